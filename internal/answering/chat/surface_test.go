package chat_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/google/go-cmp/cmp"
)

var errArchived = errors.New("archived")

func archived(err error) bool { return errors.Is(err, errArchived) }

func TestATargetThatIsGoneIsReplacedByTheDefault(t *testing.T) {
	t.Parallel()
	routes := &chat.Routes{Default: chat.Target{Channel: "C1"}, Rules: []chat.Rule{{Match: chat.Match{Session: "s1"}, To: chat.Target{Channel: "C2"}}}}
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
			at, err := chat.PostAt(t.Context(), routes, &ask.Ask{Tenant: "acme", Session: c.session, ID: "a1"}, archived, slog.New(slog.DiscardHandler), func(to chat.Target) (ask.Place, error) {
				tried = append(tried, to.Channel)
				return ask.Place{Ref: to.Channel}, c.refuses[to.Channel]
			})
			_, final := errors.AsType[*responder.PermanentError](err)
			if got := strings.Join(tried, " "); got != c.tried || final != c.final || (err != nil) != c.fails || !c.fails && at.Ref != tried[len(tried)-1] {
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
		err := chat.EditAll(t.Context(), []string{"m1", "m2", "m3"}, "a1", archived, slog.New(slog.DiscardHandler), func(m string) error { n++; return c.fails[m] })
		if n != 3 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d edited, %v", name, n, err)
		}
	}
}

func TestAGroupThatCannotBeReadIsEmpty(t *testing.T) {
	t.Parallel()
	routes := &chat.Routes{Groups: map[string]string{"a": "S1", "b": "S2", "c": "S3"}}
	got := chat.AudienceGroups(t.Context(), routes, &ask.Ask{Audience: []string{"os:mei", "group:a", "group:b", "group:c", "group:unknown"}}, slog.New(slog.DiscardHandler), func(id string) (bool, error) {
		return id == "S1", map[string]error{"S2": errArchived}[id]
	})
	if diff := cmp.Diff([]string{"a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRoutesOfAFile(t *testing.T) {
	t.Parallel()
	parse := func(data []byte) (*chat.Routes, error) {
		return &chat.Routes{Default: chat.Target{Channel: string(data)}}, nil
	}
	log := slog.New(slog.DiscardHandler)
	fixed := &chat.Routes{}
	if current, err := chat.OpenRoutes("", fixed, parse, log); err != nil || current() != fixed {
		t.Error(err)
	}
	name := filepath.Join(t.TempDir(), "routes")
	if _, err := chat.OpenRoutes(name, fixed, parse, log); err == nil {
		t.Error("a missing file is accepted")
	}
	if err := os.WriteFile(name, []byte("C9"), 0o600); err != nil {
		t.Fatal(err)
	}
	if current, err := chat.OpenRoutes(name, fixed, parse, log); err != nil || current().Default.Channel != "C9" {
		t.Error(err)
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
