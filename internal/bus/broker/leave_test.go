package broker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// While an agent's host may still report the answer of its own dialog, every broker refuses others.
func TestAnAgentThatHasLeftGetsOnlyItsDialogsAnswer(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	stop := bus.Broker(broker.Options{}) // a second one
	defer stop()
	agent := agentOf(t, bus)
	person := bus.Dialog("tui")
	screen := func(id string) (ask.Outcome, error) {
		return person.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s-1", ID: id}, ask.Reply{AnswerID: "a-" + id, Response: "yes", By: ask.By{Principal: "os:mei"}})
	}
	question := func(id string) {
		t.Helper()
		if _, err := agent.Ask(t.Context(), ask.Ask{ID: id, WhileWaiting: true, Questions: []ask.Question{{Text: "Which?", Kind: ask.KindText}}}); err != nil {
			t.Fatal(err)
		}
	}

	question("left")
	if err := agent.Leave(t.Context(), "left", "left", time.Minute); err != nil {
		t.Fatal(err)
	}
	for range 8 { // both brokers
		var e *ask.Error
		if _, err := screen("left"); !errors.Is(err, ask.ErrResolved) || !errors.As(err, &e) || e.Outcome != nil || !strings.Contains(e.Detail, "the agent has left") {
			t.Fatalf("another screen: %v", err)
		}
	}
	dialog := bus.Dialog(ask.ResponderNative)
	o, err := dialog.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s-1", ID: "left"}, ask.Reply{AnswerID: "native", Response: "red", By: ask.By{Principal: "os:ben", Proof: ask.ProofHostDialog}})
	if err != nil || o.Status != ask.StatusAnswered || o.Response != "red" {
		t.Fatalf("the dialog: %+v, %v", o, err)
	}

	question("gone")
	if err := agent.Leave(t.Context(), "gone", "Esc", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if o, err := agent.Wait(t.Context(), "gone"); err != nil || o.Status != ask.StatusWithdrawn || o.Reason != "Esc" {
		t.Errorf("without an answer: %+v, %v", o, err)
	}
	if err := agent.Leave(t.Context(), "left", "late", time.Second); !errors.Is(err, ask.ErrResolved) {
		t.Errorf("leaving an answered ask: %v", err)
	}
	if err := agent.Leave(t.Context(), "gone", "x", time.Hour); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("too long: %v", err)
	}
}

// An answer that a broker decided before the agent left, and stores after that, loses its race.
func TestNoAnswerPassesAnAgentThatLeaves(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	agent, other := agentOf(t, bus), bus.Ledger() // of another broker
	if _, err := agent.Ask(t.Context(), ask.Ask{ID: "left", WhileWaiting: true, Questions: []ask.Question{{Text: "Which?", Kind: ask.KindText}}}); err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s-1", ID: "left"}
	before, err := other.ReadToWrite(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Leave(t.Context(), "left", "left", time.Minute); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	effect, err := lifecycle.Decide(before, lifecycle.Reply{Reply: ask.Reply{AnswerID: "a", Response: "yes", By: ask.By{Principal: "os:mei", Responder: "tui"}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Resolve(t.Context(), before, effect.(lifecycle.Resolve).Outcome, "", now); !ledger.IsRace(err) {
		t.Errorf("an answer to a question that was left meanwhile: %v", err)
	}
	if rec, err := agent.Get(t.Context(), "left"); err != nil || rec.Outcome != nil {
		t.Errorf("%+v, %v", rec.Outcome, err)
	}
	reader := bus.Connect(rights.Role{Name: rights.RoleAuditor})
	natstest.Eventually(t, "the audit has that it was left", func() bool {
		p, err := audit.Read(t.Context(), reader, "", audit.Query{Ask: "left", Actions: []audit.Action{audit.AskLeft}})
		return err == nil && len(p.Items) == 1
	})
}

// A broker that stops leaves no ask behind whose agent has left.
func TestADrainingBrokerWithdrawsWhatWasLeft(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := bus.Broker(broker.Options{})
	agent := agentOf(t, bus)
	if _, err := agent.Ask(t.Context(), ask.Ask{ID: "left", WhileWaiting: true, Questions: []ask.Question{{Text: "Which?", Kind: ask.KindText}}}); err != nil {
		t.Fatal(err)
	}
	if err := agent.Leave(t.Context(), "left", "Esc", time.Minute); err != nil {
		t.Fatal(err)
	}
	stop()
	defer bus.Broker(broker.Options{})()
	if rec, err := agent.Get(t.Context(), "left"); err != nil || rec.Outcome == nil || rec.Outcome.Status != ask.StatusWithdrawn {
		t.Errorf("%+v, %v", rec, err)
	}
}

func agentOf(t *testing.T, bus *natstest.Bus) client.Session {
	t.Helper()
	c, err := client.New(bus.Agent("acme", "s-1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Session("acme", "s-1")
}
