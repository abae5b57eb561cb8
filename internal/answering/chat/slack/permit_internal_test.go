package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// The card of a permission has every character of its command, in blocks that Slack takes and that nothing trims
// afterwards; or it is cut, and says so.
func TestACommandIsOnItsCardWhole(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"lines": "echo one && echo two\n", "one line": "abcdefgh ", "quotes": `"\"x\"" `, "Chinese": "删除全部文件\n", "emoji": "👩‍👩‍👧 ", "escapes": "<@U1> && <!channel> ", "marks": "a `b` *c* _d_ ~~~ :tada: \n",
	} {
		whole, cut := 0, 0
		for _, n := range []int{100, 2_990, 3_010, 6_000, 8_500, 10_000, 11_500, 20_000, 60_000} {
			command := strings.TrimSpace(strings.Repeat(unit, n/len(unit)))
			a := ask.Ask{
				Context: "````sh\n" + command + "\n````\n\nDirectory: `/srv`", Metadata: map[string]any{ask.MetadataPermission: "x"},
				Questions: []ask.Question{{Text: "May it run this?", NoOther: true, Options: []ask.Option{{ID: "yes", Label: "Yes", Description: "Only this once."}, {ID: "no", Label: "No"}}}},
			}
			c := drawn(a)
			if n < 8_000 && c.Cut && name != "quotes" && name != "emoji" {
				t.Errorf("%s: %d bytes do not fit", name, len(command))
			}
			if c.Cut {
				cut++
				continue
			}
			whole++
			if fitted := fit(c); len(fitted.Blocks) != len(c.Blocks) || size(fitted.Blocks) != size(c.Blocks) {
				t.Errorf("%s: %d bytes are trimmed afterwards", name, len(command))
			}
			flat := strings.NewReplacer("\n", "", zero, "")
			if got := flat.Replace(strings.Join(pieces(taken(t, c).Blocks), "")); !strings.Contains(got, flat.Replace(ask.Visible(command))) {
				t.Errorf("%s: not all of %d bytes is in %.300q", name, len(command), got)
			}
		}
		if whole < 3 || cut < 2 {
			t.Errorf("%s: %d are whole, %d cut", name, whole, cut)
		}
	}
}

// The form of the Home tab shows what it is about: no card does.
func TestTheFormOfTheHomeTabShowsTheContext(t *testing.T) {
	t.Parallel()
	rec := record(ask.Ask{Context: "```sh\nrm -rf /srv\n```", Metadata: map[string]any{ask.MetadataPermission: "x"}, Questions: []ask.Question{{Text: "May it run this?", Options: []ask.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}}}})
	a := asked{Record: *rec, Life: rec.Life, Card: card.New(rec, card.Viewer{Surface: Type, Shared: true}, when)}
	for from, want := range map[modalRef]bool{{}: true, {Channel: "C1", TS: "1.2"}: false} {
		data, err := json.Marshal(answerModal(a, from))
		if err != nil || strings.Contains(string(data), "rm -rf /srv") != want {
			t.Errorf("from %+v: %s, %v", from, data, err)
		}
	}
	a.Card.Withhold(true)
	data, err := json.Marshal(pendingCard(a).Blocks)
	if said := string(data); err != nil || strings.Contains(said, actionAnswer+`"`) || strings.Contains(said, actionChoose) || !strings.Contains(said, actionDecline) || !strings.Contains(said, "nobody can permit it here") {
		t.Errorf("what is withheld is %s, %v", said, err)
	}
}
