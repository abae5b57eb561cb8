package wire_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// What has fields of a newer broker keeps its bytes; what has none keeps nothing.
func TestUnknownFieldsAreCarried(t *testing.T) {
	t.Parallel()
	const asked = `{"id":"a","questions":[{"id":"q","text":"?"}]}`
	outcome := func(more string) string {
		return `{"ask_id":"a","tenant":"acme","session":"s1","status":"answered","answers":[{"question_id":"q","text":"x"` + more + `}],"at":"2026-11-24T00:00:00Z","waited_ms":5,"ask":` + asked + `}`
	}
	for _, more := range []string{"", `,"mood":"calm"`} {
		newer := more != ""
		o, err := wire.DecodeOutcome([]byte(outcome(more)))
		if err != nil || (o.Raw != nil) != newer {
			t.Fatalf("%v, raw %s", err, o.Raw)
		}
		body, err := wire.CarryOutcome(&o)
		if err != nil || !strings.Contains(string(body), `"text":"x"`+more) || !strings.Contains(string(body), `"ask":{`) {
			t.Errorf("%v: %s", err, body)
		}
		o.Ask = nil
		body, err = wire.CarryOutcome(&o)
		if err != nil || !strings.Contains(string(body), `"text":"x"`+more) || strings.Contains(string(body), `"ask":{`) {
			t.Errorf("without its ask: %v: %s", err, body)
		}
		problem := wire.DecodeProblem(wire.EncodeProblem(&ask.Error{Code: ask.CodeResolved, Detail: "already answered", Outcome: &o}))
		if (problem.Outcome.Raw != nil) != newer {
			t.Errorf("in a problem: %s", problem.Outcome.Raw)
		}
		item := `{"tenant":"acme","session":"s1","state":"resolved","asked_at":"2026-11-24T00:00:00Z","deadline":"2026-11-25T00:00:00Z","life":"l","ask":` + asked + `,"outcome":` + outcome(more) + `}`
		items, _, err := wire.DecodePage([]byte(`{"items":[` + item + `]}`))
		if err != nil || len(items) != 1 || (items[0].Raw != nil) != newer || (items[0].Outcome.Raw != nil) != newer {
			t.Fatalf("%v: %+v", err, items)
		}
		page, err := wire.EncodePage([]wire.ListItem{{Record: items[0]}}, "")
		if err != nil || !strings.Contains(string(page), `"text":"x"`+more) {
			t.Errorf("a page: %v: %s", err, page)
		}
		for _, at := range []string{"", `,"mood":"calm"`} {
			status, err := wire.StatusOf(ask.Key{Tenant: "acme", Session: "s1", ID: "a"}, []byte(`{"state":"resolved","ask_id":"a","tenant":"acme","session":"s1","present":[]`+at+`,"ask":`+asked+`,"outcome":`+outcome(more)+`}`))
			if err != nil || (status.Record().Raw != nil) != (newer || at != "") {
				t.Errorf("a status: %v, raw %s", err, status.Raw)
			}
		}
	}
}
