package broker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

func storage() ask.Ask {
	return ask.Ask{Title: "Ledger storage", Questions: []ask.Question{{
		ID: "db", Kind: ask.KindChoice, Text: "Which database?",
		Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}},
	}}}
}

func mei() ask.By { return ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"} }

func pick(option string) ask.Reply {
	return ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{option}}}, By: mei()}
}

func newClient(t *testing.T, b *natstest.Bus, session string) client.Session {
	t.Helper()
	c, err := client.New(b.Agent("acme", session), client.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	return c.Session("acme", session)
}

func newResponder(t *testing.T, b *natstest.Bus, typ string) *responder.Responder {
	t.Helper()
	r, err := responder.New(b.Responder(typ), typ, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAskAnswerWait(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID = "deploy-42"
	st, err := c.Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if st.State != ask.StatePending || st.ID != "deploy-42" {
		t.Fatalf("status %+v", st)
	}
	got := make(chan ask.Outcome, 1)
	go func() {
		o, err := c.Wait(t.Context(), "deploy-42")
		if err != nil {
			t.Error(err)
		}
		got <- o
	}()
	p, err := r.List(t.Context(), responder.Query{})
	if err != nil || len(p.Items) != 1 {
		t.Fatalf("list: %+v %v", p, err)
	}
	k := p.Items[0].Ask.Key()
	if _, err := r.Answer(t.Context(), k, pick("pg")); err != nil {
		t.Fatal(err)
	}
	o := <-got
	if o.Status != ask.StatusAnswered || o.Answers[0].Selected[0] != "pg" || o.By.Responder != "web" || o.By.Principal != "os:mei" {
		t.Fatalf("outcome %+v", o)
	}
	_, err = r.Answer(t.Context(), k, pick("lite"))
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || wire.HTTPStatus(e.Code) != 409 || e.Outcome == nil || e.Outcome.Answers[0].Selected[0] != "pg" {
		t.Fatalf("second answer: %v", err)
	}
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatalf("asking again: %v", err)
	}
	a.Title = "another"
	if _, err := c.Ask(t.Context(), a); !errors.Is(err, ask.ErrIDReused) {
		t.Fatalf("another ask under the same id: %v", err)
	}
}

func TestDeadlineIsKeptByTheServer(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Retention: 10 * time.Second, Margin: ledger.MinMargin}})
	c := newClient(t, b, "s1")
	a := storage()
	a.Timeout = time.Second
	a.AtDeadline = ask.AtDeadlineDefault
	a.Questions[0].Default = &ask.Answer{Selected: []string{"lite"}}
	st, err := c.Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Wait(t.Context(), st.ID)
	if err != nil {
		t.Fatal(err)
	}
	if o.Status != ask.StatusExpired || o.Source != ask.SourceDefault || o.Answers[0].Selected[0] != "lite" || o.By != nil {
		t.Fatalf("outcome %+v", o)
	}
}

func TestFiftyAnswersAtOnceHaveOneWinner(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newClient(t, b, "s1")
	const asks, answers = 40, 50
	var rs []*responder.Responder
	for i := range 5 {
		rs = append(rs, newResponder(t, b, fmt.Sprintf("type%d", i)))
	}
	var wg sync.WaitGroup
	for i := range asks {
		a := storage()
		a.ID = fmt.Sprintf("a%d", i)
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	atATime := make(chan struct{}, 8) // of 400 answers: a race detector on busy cores manages no more in time
	for i := range asks {
		wg.Go(func() {
			atATime <- struct{}{}
			defer func() { <-atATime }()
			k := ask.Key{Tenant: "acme", Session: "s1", ID: fmt.Sprintf("a%d", i)}
			var mu sync.Mutex
			var won []ask.Outcome
			lost := map[string]int{}
			var inner sync.WaitGroup
			for j := range answers {
				inner.Go(func() {
					reply := pick([]string{"pg", "lite"}[j%2])
					reply.AnswerID = fmt.Sprintf("w%d", j)
					o, err := rs[j%len(rs)].Answer(t.Context(), k, reply)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won = append(won, o)
						return
					}
					e, ok := errors.AsType[*ask.Error](err)
					if !ok || e.Outcome == nil {
						t.Errorf("%s: %v", k, err)
						return
					}
					lost[e.Outcome.AnswerID]++
				})
			}
			inner.Wait()
			if len(won) != 1 || lost[won[0].AnswerID] != answers-1 {
				t.Errorf("%s: %d winners, told %v", k, len(won), lost)
			}
			o, err := c.Wait(t.Context(), k.ID)
			if err != nil || len(won) == 1 && o.AnswerID != won[0].AnswerID {
				t.Errorf("%s: agent was told %q %v", k, o.AnswerID, err)
			}
		})
	}
	wg.Wait()
}

func TestWatchTellsEveryAskAndOutcomeOnce(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	for i := range 20 {
		a := storage()
		a.ID = fmt.Sprintf("before%d", i)
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan board.Event, 1000)
	done := make(chan error, 1)
	go func() { done <- board.Watch(ctx, r, func(e board.Event) { events <- e }) }()
	pending, resolved := map[string]int{}, map[string]int{}
	read := func(until func() bool) {
		t.Helper()
		for !until() {
			select {
			case e := <-events:
				switch e.Kind {
				case board.Pending:
					pending[e.Record.Ask.ID]++
				case board.Resolved:
					resolved[e.Record.Ask.ID]++
				case board.Synced:
					resolved["synced"]++
				case board.Offline, board.Reset, board.Changed:
				}
			case <-time.After(waittest.Limit):
				t.Fatalf("stuck with %v %v", pending, resolved)
			}
		}
	}
	read(func() bool { return resolved["synced"] == 1 })
	if len(pending) != 20 {
		t.Fatalf("snapshot had %v", pending)
	}
	for i := range 20 {
		a := storage()
		a.ID = fmt.Sprintf("after%d", i)
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: a.ID}, pick("pg")); err != nil {
			t.Fatal(err)
		}
	}
	read(func() bool { return len(pending) == 40 && len(resolved) == 21 })
	for id, n := range pending {
		if n != 1 {
			t.Errorf("%s was told %d times", id, n)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
