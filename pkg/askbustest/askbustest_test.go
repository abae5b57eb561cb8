package askbustest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/askbustest"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

func database(id string) ask.Ask {
	return ask.Ask{ID: id, Timeout: time.Hour, Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
		{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?"},
	}}
}

// Eight concurrent buses, each with its own script.
func TestEveryTestHasItsOwnBus(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			b := askbustest.Start(t)
			b.Script(askbustest.Rule{Question: "Which database?", Say: "PostgreSQL", Notes: "keep backups"}, askbustest.Rule{Say: fmt.Sprint(i + 1)})
			o, err := b.Session("acme", "s1").AskAndWait(t.Context(), database("a1"))
			if err != nil {
				t.Fatal(err)
			}
			db, n := o.Answer("db"), o.Answer("n")
			if db.Selected[0] != "pg" || db.Notes != "keep backups" || *n.Number != float64(i+1) || o.By.Name != "Mei" || o.By.Responder != askbustest.ResponderType {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	b := askbustest.Start(t)
	s := b.Session("acme", "s1")
	if _, err := s.Ask(t.Context(), database("before")); err != nil {
		t.Fatal(err)
	}
	b.Answer(func(a ask.Ask) (ask.Reply, bool) {
		return ask.Reply{Response: "as you like", By: ask.By{Principal: "os:ben"}}, a.ID != "left"
	})
	for _, id := range []string{"before", "after"} {
		if o, err := s.AskAndWait(t.Context(), database(id)); err != nil || o.Response != "as you like" || o.By.Principal != "os:ben" {
			t.Errorf("%s: %+v %v", id, o, err)
		}
	}
	if _, err := s.Ask(t.Context(), database("left")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AskAndWait(t.Context(), database("later")); err != nil {
		t.Fatal(err)
	}
	if rec, err := s.Get(t.Context(), "left"); err != nil || rec.State != ask.StatePending {
		t.Errorf("the unanswered ask: %s %v", rec.State, err)
	}
}

func TestARuleDeclines(t *testing.T) {
	t.Parallel()
	b := askbustest.Start(t)
	b.Script(askbustest.Rule{Question: "n", Decline: true, Say: "not mine to say"}, askbustest.Rule{Question: "db", Say: "2"})
	o, err := b.Session("acme", "s1").AskAndWait(t.Context(), database("a1"))
	if err != nil || o.Status != ask.StatusCancelled || o.Reason != "not mine to say" {
		t.Errorf("%+v %v", o, err)
	}
}

// An agent's credential is for its session only; the operator's is for all.
func TestCredentials(t *testing.T) {
	t.Parallel()
	b := askbustest.Start(t)
	asks := func(c client.Credential, tenant, session string) error {
		nc, err := client.Connect(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		asks, err := client.New(nc, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = asks.Session(tenant, session).Ask(t.Context(), database("a1"))
		return err
	}
	if err := asks(b.Agent("acme", "s1"), "acme", "s1"); err != nil {
		t.Error(err)
	}
	if err := asks(b.Agent("acme", "s1"), "acme", "s2"); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("another session: %v", err)
	}
	if err := asks(b.Operator(), "other", "s3"); err != nil {
		t.Error(err)
	}
	nc, err := client.Connect(b.Surface("web"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	web, err := responder.New(nc, "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := web.Get(t.Context(), ask.Key{Tenant: "other", Session: "s3", ID: "a1"}); err != nil || rec.Ask.Session != "s3" {
		t.Errorf("%+v %v", rec, err)
	}
}

func TestCloseIsHarmlessTwice(t *testing.T) {
	t.Parallel()
	b, err := askbustest.New()
	if err != nil {
		t.Fatal(err)
	}
	b.Script(askbustest.Rule{Say: "1"})
	s := b.Session("acme", "s1")
	b.Close()
	b.Close()
	if _, err := s.Get(t.Context(), "a1"); err == nil {
		t.Error("a closed bus still answers")
	}
	defer func() {
		if recover() == nil {
			t.Error("a closed bus returned a responder")
		}
	}()
	b.Responder("web")
}
