package wire_test

import (
	"errors"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Another credential with the same inbox can have a genuine reply about its own
// ask, which somebody approved, sent to where a reply about ours is awaited.
func TestAReplyAboutAnotherAskIsIgnored(t *testing.T) {
	t.Parallel()
	ours := ask.Key{Tenant: "acme", Session: "s1", ID: "deploy"}
	for name, k := range map[string]ask.Key{
		"ours": ours, "another ask": {Tenant: "acme", Session: "s1", ID: "greet"}, "another session": {Tenant: "acme", Session: "s2", ID: "deploy"},
		"another tenant": {Tenant: "other", Session: "s1", ID: "deploy"}, "none": {},
	} {
		approved := &ask.Outcome{AskID: k.ID, Tenant: k.Tenant, Session: k.Session, Status: ask.StatusAnswered}
		outcome, err := wire.EncodeOutcome(approved, nil)
		if err != nil {
			t.Fatal(err)
		}
		status, err := wire.EncodeStatus(&wire.StatusReply{State: ask.StateResolved, Key: k, Outcome: approved})
		if err != nil {
			t.Fatal(err)
		}
		mixed, err := wire.EncodeStatus(&wire.StatusReply{State: ask.StateResolved, Key: ours, Outcome: approved})
		if err != nil {
			t.Fatal(err)
		}
		_, ofOutcome := wire.OutcomeOf(ours, outcome)
		_, ofStatus := wire.StatusOf(ours, status)
		_, ofMixed := wire.StatusOf(ours, mixed)
		for what, err := range map[string]error{"outcome": ofOutcome, "status": ofStatus, "status with its outcome": ofMixed} {
			if refused := errors.Is(err, ask.ErrUnavailable); refused != (k != ours) || !refused && err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}
