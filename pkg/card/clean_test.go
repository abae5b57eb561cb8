package card_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// hidden reports characters that a card must not contain: control characters, and those that change
// the direction of the text around them.
func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 ||
		r == 0x200E || r == 0x200F || r == 0x061C || r == 0x2028 || r == 0x2029
}

// FuzzNothingHiddenReachesACard checks that no field passes a control or bidi character of an agent
// or a person to the card.
func FuzzNothingHiddenReachesACard(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]8;;http://x\x07link", "a\u202eb\u2066c", "\r\n\u0085\u2028", "\xff\x80", "```\n\x9b31m", "- a\n\n\x00   b", "(Recommended)", "👩\u200d💻 می\u200cخواهم"} {
		f.Add(s, "choice", true)
		f.Add(s, "text", false)
		f.Add(s, s, true)
	}
	f.Fuzz(func(t *testing.T, s, kind string, ended bool) {
		r := record(ask.Ask{
			Title: s, Context: s, Agent: ask.Agent{ID: s, Name: s, Parent: s}, Audience: []string{"group:" + s, s, "os:mei"}, Priority: ask.Priority(s),
			Questions: []ask.Question{
				{ID: s, Header: s, Text: s, Kind: ask.Kind(kind), Placeholder: s, Limits: ask.Limits{Message: s, MinDate: s, MaxDate: s}, Optional: true, Options: []ask.Option{
					{ID: "a" + s, Label: s, Description: s, Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: s}},
					{ID: "b", Label: s + "(recommended)", Preview: &ask.Preview{Body: s}, Cancels: true},
				}},
				{ID: "2" + s, Text: s, Kind: ask.KindDate, Limits: ask.Limits{MinDate: s}},
			},
		})
		r.Ask.Session = s
		r.Receipts = []ask.Receipt{{Type: s, Places: []ask.Place{{Where: s}}}, {Type: "slack", Places: []ask.Place{{Where: "https://" + s}}}}
		by := ask.By{Principal: s, Name: s, Responder: s}
		if ended {
			r = done(r, s, by)
		}
		c := card.New(r, mei, now, card.Attention{By: by})
		draft := c.Draft()
		again := append(draft.Read(s), c.Faults([]ask.Fault{{QuestionID: s, Message: s}, {Message: s}})...)
		clean(t, reflect.ValueOf(*c), "Card")
		clean(t, reflect.ValueOf(again), "Again")
		clean(t, reflect.ValueOf(draft.Review()), "Review")
		clean(t, reflect.ValueOf(card.NewRow(r, mei, now)), "Row")
		all := []string{c.Text(), c.Head(), c.AskAgain(again)}
		if c.End != nil {
			all = append(all, c.End.Text(), c.End.Sentence, c.End.Brief, c.End.Late())
		}
		clean(t, reflect.ValueOf(all), "text")
	})
}

func done(r *ask.Record, s string, by ask.By) *ask.Record {
	return ended(r, ask.Outcome{
		Status: ask.StatusAnswered, Response: s, Reason: s, By: &by,
		Answers: []ask.Answer{{QuestionID: s, Selected: []string{"a" + s, s}, Other: s, Text: s, Date: s, Notes: s}},
	})
}

// clean walks all that a surface shows. Identities go back to the bus as they
// are.
func clean(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if strings.ContainsFunc(v.String(), hidden) {
			t.Fatalf("%s is %q", path, v.String())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			clean(t, v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			clean(t, v.Index(i), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && !slices.Contains([]string{"ID", "Key", "Kind", "Level", "Limits", "At", "Status"}, field.Name) {
				clean(t, v.Field(i), path+"."+field.Name)
			} else if field.Type == reflect.TypeFor[card.Moment]() {
				clean(t, v.Field(i), path+"."+field.Name)
			}
		}
	}
}

// What nobody sees of a call would run all the same.
func TestHiddenCharactersOfAPermissionAreShown(t *testing.T) {
	t.Parallel()
	a := ask.Ask{Context: "```\r\nrm \u200b-rf \u202e/\n```", Questions: []ask.Question{{Kind: ask.KindBoolean, Text: "May the agent use Bash?"}}}
	if got := card.New(record(a), mei, now).Context.Body; got != "```\nrm -rf /\n```" {
		t.Errorf("of a question: %q", got)
	}
	a.Metadata = map[string]any{ask.MetadataPermission: "claude-agent-sdk"}
	if got := card.New(record(a), mei, now).Context.Body; got != "```\nrm ⟨U+200B⟩-rf ⟨U+202E⟩/\n```" {
		t.Errorf("of a permission: %q", got)
	}
}
