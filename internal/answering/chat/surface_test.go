package chat_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/google/go-cmp/cmp"
)

var errArchived = errors.New("archived")

func archived(err error) bool { return errors.Is(err, errArchived) }

// surface makes one that has no bus.
func surface(t *testing.T, o chat.Options) *chat.Surface {
	t.Helper()
	s, err := chat.NewSurface("chat", nil, o, chat.IDs{})
	if err != nil {
		t.Fatal(err)
	}
	s.Calls(nil, archived, archived)
	return s
}

func TestATargetThatIsGoneIsReplacedByTheDefault(t *testing.T) {
	t.Parallel()
	routes := chat.Routes{Default: chat.Target{Channel: "C1"}, Rules: []chat.Rule{{Match: chat.Match{Session: "s1"}, To: chat.Target{Channel: "C2"}}}}
	for _, c := range []struct {
		name    string
		session string
		refuses map[string]error
		tried   string
		final   bool
		fails   bool
	}{
		{"the route's", "s1", nil, "C2", false, false},
		{"the default instead", "s1", map[string]error{"C2": errArchived}, "C2 C1", false, false},
		{"neither", "s1", map[string]error{"C2": errArchived, "C1": errArchived}, "C2 C1", true, true},
		{"the default once", "s2", map[string]error{"C1": errArchived}, "C1", true, true},
		{"a service that is down", "s1", map[string]error{"C2": errors.New("down")}, "C2", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tried []string
			at, err := surface(t, chat.Options{Routes: routes}).Present(t.Context(), &ask.Ask{Tenant: "acme", Session: c.session, ID: "a1"}, func(to chat.Target) (ask.Place, error) {
				tried = append(tried, to.Channel)
				return ask.Place{Ref: to.Channel}, c.refuses[to.Channel]
			})
			_, final := errors.AsType[*responder.PermanentError](err)
			if got := strings.Join(tried, " "); got != c.tried || final != c.final || (err != nil) != c.fails || !c.fails && at[0].Ref != tried[len(tried)-1] {
				t.Errorf("tried %s: %+v, %v", got, at, err)
			}
		})
	}
}

func TestAllMessagesOfAnEndedAskAreEdited(t *testing.T) {
	t.Parallel()
	down, slow := errors.New("down"), &responder.RetryError{After: time.Second, Err: errors.New("429")}
	for name, c := range map[string]struct {
		fails map[string]error
		want  error
	}{
		"none fails": {}, "one was deleted": {map[string]error{"m1": errArchived}, nil},
		"one fails": {map[string]error{"m1": down}, down}, "one is refused for now": {map[string]error{"m1": down, "m2": slow}, slow},
	} {
		n := 0
		err := surface(t, chat.Options{}).EditAll(t.Context(), &ask.Ask{}, time.Time{}, []ask.Place{{Ref: "m1"}, {Ref: "m2"}, {Ref: "m3"}}, func(m string, _ responder.Rank) error { n++; return c.fails[m] })
		if n != 3 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d edited, %v", name, n, err)
		}
	}
}

func TestAGroupThatCannotBeReadIsEmpty(t *testing.T) {
	t.Parallel()
	s := surface(t, chat.Options{Routes: chat.Routes{Groups: map[string]string{"a": "S1", "b": "S2", "c": "S3"}}})
	var by ask.By
	s.Identify(t.Context(), &by, "U1", &ask.Ask{Audience: []string{"os:mei", "group:a", "group:b", "group:c", "group:unknown"}}, func(id string) (bool, error) {
		return id == "S1", map[string]error{"S2": errArchived}[id]
	})
	if diff := cmp.Diff([]string{"a"}, by.Groups); diff != "" {
		t.Error(diff)
	}
}

func TestRoutesOfAFile(t *testing.T) {
	t.Parallel()
	fixed := chat.Routes{Default: chat.Target{Channel: "C1"}}
	if got := surface(t, chat.Options{Routes: fixed}).Routes().Default.Channel; got != "C1" {
		t.Errorf("without a file: %q", got)
	}
	name := filepath.Join(t.TempDir(), "routes")
	ids := chat.IDs{Channel: "^C[0-9]$", Person: "^U$", Group: "^S$", Mention: "^U$", Threads: []string{chat.ThreadsMention}, Member: func(string) (string, bool) { return "U", true }}
	if _, err := chat.NewSurface("chat", nil, chat.Options{RouteFile: name, Routes: fixed}, ids); err == nil {
		t.Error("a missing file is accepted")
	}
	if err := os.WriteFile(name, []byte("default: {channel: C9}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := chat.NewSurface("chat", nil, chat.Options{RouteFile: name, Routes: fixed}, ids)
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Routes().Decide(&ask.Ask{Audience: []string{"chat:mei"}}); d.Person != "U" {
		t.Errorf("a member is sent to %+v", d)
	}
	if got := s.Routes().Default.Channel; got != "C9" {
		t.Errorf("with a file: %q", got)
	}
}

func TestADraftTravelsInAMessage(t *testing.T) {
	t.Parallel()
	d := chat.Draft{By: "103", Steps: card.Steps{Answers: []ask.Answer{{QuestionID: "n", Text: "ä/+&?="}}, Chosen: []string{"x"}}}
	s := d.Encode(1000)
	got, ok := chat.ParseDraft(s)
	if diff := cmp.Diff(d, got); !ok || diff != "" || strings.ContainsAny(s, "/+&?=") {
		t.Error(ok, s, diff)
	}
	d.Steps.Answers[0].Text = strings.Repeat("x", 1000)
	if s := d.Encode(1000); s != "" {
		t.Errorf("%d bytes", len(s))
	}
	for _, s := range []string{"", "x", "!", "e30"} {
		if _, ok := chat.ParseDraft(s); ok {
			t.Errorf("%q is a draft", s)
		}
	}
}

// Who did not see a notification is told in private, and nobody else: a step of an ask without a ladder.
func TestWhoDidNotSeeANotificationIsToldInPrivate(t *testing.T) {
	t.Parallel()
	routes := chat.Routes{Default: chat.Target{Channel: "C1"}, People: map[string]string{"chat:U1": "U1", "chat:U2": "U2", "chat:U3": "U3"}}
	s := surface(t, chat.Options{Routes: routes})
	rec := ask.Record{State: ask.StatePending, Ask: ask.Ask{Tenant: "acme", Session: "s1", ID: "a1", Title: "Deploy?"}}
	steps := []ask.Step{{N: 1, At: time.Unix(1, 0), Tell: []string{"chat:U1", "telegram:7", "chat:U2", "chat:U3"}, Via: []string{"chat", "telegram"}}}
	var told []string
	s.Calls(func(_ context.Context, n *chat.Note) error {
		told = append(told, n.To.Person+n.Ref+strings.Join(n.Mention, ","))
		if n.Lines[0] != "Nobody has decided this yet: Deploy?" {
			t.Errorf("told %q", n.Lines)
		}
		return map[string]error{"U2": errArchived}[n.To.Person]
	}, archived, archived)
	_, err := s.Escalate(t.Context(), responder.Post{Ask: rec.Ask}, rec, steps, []ask.Place{{Ref: "C1/1"}})
	if want := []string{"U1", "U2", "U3"}; err != nil || !cmp.Equal(told, want) {
		t.Errorf("told %q, %v", told, err)
	}
}

// What a message does not show whole is not permitted there: an old or a forged button, and words, come to nothing before
// any broker hears of them.
func TestNobodyPermitsWhatAMessageDoesNotShowWhole(t *testing.T) {
	t.Parallel()
	var refused []chat.Refusal
	s := surface(t, chat.Options{Link: func(k ask.Key) string { return "https://inbox.example/ask/" + k.String() }, Refused: func(r chat.Refusal) { refused = append(refused, r) }})
	s.ShownWhole(func(c *card.Card, _ *ask.Record) bool { return c.Context == nil || len(c.Context.Body) < 100 })
	command := "```sh\n" + strings.Repeat("x", 100) + "\n```"
	q := ask.Question{ID: "q", Kind: ask.KindChoice, Text: "May it?", Options: []ask.Option{{ID: "yes", Label: "Yes", Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: command}}, {ID: "no", Label: "No"}, {ID: "stop", Label: "Stop", Cancels: true}}}
	rec := &ask.Record{State: ask.StatePending, Ask: ask.Ask{
		Tenant: "acme", Session: "s1", ID: "a1", Context: command, Questions: []ask.Question{q}, Metadata: map[string]any{ask.MetadataPermission: "x", ask.MetadataDenies: []any{"no"}},
	}}
	l := lang.Of(lang.English)
	said := func(answers ...ask.Answer) bool { return s.Withheld(l, rec, answers) != "" }
	for name, c := range map[string]struct {
		ans  ask.Answer
		want bool
	}{
		"what permits":     {ask.Answer{QuestionID: "q", Selected: []string{"yes"}}, true},
		"what refuses":     {ask.Answer{QuestionID: "q", Selected: []string{"no"}}, false},
		"what ends it":     {ask.Answer{QuestionID: "q", Selected: []string{"stop"}}, false},
		"both":             {ask.Answer{QuestionID: "q", Selected: []string{"no", "yes"}}, true},
		"words beside":     {ask.Answer{QuestionID: "q", Selected: []string{"no"}, Other: "yes"}, true},
		"another question": {ask.Answer{QuestionID: "r", Selected: []string{"no"}}, true},
	} {
		if said(c.ans) != c.want {
			t.Errorf("%s: withheld is not %v", name, c.want)
		}
	}
	if !said() {
		t.Error("no answer at all, as of a form that is opened, is not withheld")
	}
	told, err := s.Answer(t.Context(), l, rec, "", ask.Reply{Answers: []ask.Answer{{QuestionID: "q", Selected: []string{"yes"}}}})
	if !errors.Is(err, ask.ErrForbidden) || !strings.Contains(told, "https://inbox.example/ask/acme/s1/a1") || len(refused) != 1 {
		t.Errorf("told %q, %v, and reported %d", told, err, len(refused))
	}
	c := s.Card(l, rec)
	if o := c.Questions[0].Options; c.Withheld == "" || !o[0].Withheld || o[1].Withheld || o[2].Withheld || c.Questions[0].Other != nil || o[0].Preview != nil {
		t.Errorf("the card offers %+v", c.Questions[0])
	}
	rec.Ask.Questions[0] = ask.Question{ID: "q", Kind: ask.KindBoolean, Text: "May it?"}
	if o := s.Card(l, rec).Questions[0].Options; !said(ask.Answer{QuestionID: "q", Boolean: new(true)}) || said(ask.Answer{QuestionID: "q", Boolean: new(false)}) || !o[0].Withheld || o[1].Withheld {
		t.Error("of yes and no, not only yes is withheld")
	}
	rec.Ask.Questions[0], rec.Ask.Metadata = q, nil
	if said(ask.Answer{QuestionID: "q", Selected: []string{"yes"}}) {
		t.Error("what is no permission is withheld")
	}
}
