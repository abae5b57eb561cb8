package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// The gateway carries what it does not know: fields that a newer broker stored
// with an ask and one of its questions are in each reply that has the ask.
func TestFieldsOfANewerBrokerArePassedOn(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	d.http = http.DefaultClient // the contract is of this version
	agent := d.agent("s1")
	a := ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Questions: []ask.Question{{ID: "db", Text: "Which?"}}, Timeout: time.Hour}
	a.Normalize()
	led := d.bus.Ledger()
	now, err := led.Moment(t.Context(), a.Key())
	if err != nil {
		t.Fatal(err)
	}
	s := lifecycle.New(a, now)
	s.RawAsk, err = wire.EncodeAsk(s.Ask)
	if err != nil {
		t.Fatal(err)
	}
	s.RawAsk = []byte(strings.NewReplacer(`"id":"a1"`, `"id":"a1","colour":"red"`, `"id":"db"`, `"id":"db","mood":["calm"]`).Replace(string(s.RawAsk)))
	digest, err := wire.DigestJSON(s.RawAsk)
	if err != nil {
		t.Fatal(err)
	}
	s.Life, s.EventID, s.Digests = "life-1", "event-1", []string{digest}
	if _, err := led.Store(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	whole := []string{`"colour":"red"`, `"mood":["calm"]`}
	carries := func(what, body string) {
		t.Helper()
		for _, field := range whole {
			if !strings.Contains(body, field) {
				t.Errorf("%s lacks %s: %s", what, field, body)
			}
		}
	}
	carries("the status", d.do(agent, "GET", "/v1/asks/s1/a1", "").want(t, 200).body)
	carries("a list", d.do(agent, "GET", "/v1/asks?session=s1", "").want(t, 200).body)
	for _, e := range d.events(agent, "?session=s1", "").until("synced") {
		if e.name == "ask" {
			carries("the event", e.data)
		}
	}
	d.answers(a.Key(), ask.Answer{QuestionID: "db", Text: "pg"})
	carries("the status of what has ended", d.do(agent, "GET", "/v1/asks/s1/a1", "").want(t, 200, `"text":"pg"`).body)
	carries("the outcome", d.do(agent, "GET", "/v1/asks/s1/a1?wait=1s", "").want(t, 200, `"text":"pg"`).body)
	carries("a list of what has ended", d.do(agent, "GET", "/v1/asks?session=s1&state=resolved", "").want(t, 200).body)
	carries("the refusal of a late answer", d.do(d.responder(), "POST", "/v1/asks/s1/a1/answer", `{"response":"late","answer_id":"x"}`).want(t, 409).body)
}
