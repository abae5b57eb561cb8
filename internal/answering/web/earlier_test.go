package web_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

func TestEarlierAnswersAreOfferedAndNotFilledIn(t *testing.T) {
	t.Parallel()
	b := newBus()
	before := b.ask(question("before", database()), 0)
	if _, err := b.end(before, ask.Outcome{Status: ask.StatusAnswered, By: &ask.By{Principal: "slack:T01/U02", Name: "Ana"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}}); err != nil {
		t.Fatal(err)
	}
	expired := b.ask(question("expired", database()), 0)
	if _, err := b.end(expired, ask.Outcome{Status: ask.StatusExpired, Source: ask.SourceDefault, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
		t.Fatal(err)
	}
	b.ask(question("now", database()), 0)
	page := serve(t, b).signedIn(t, mei).get("/ask/default/s1/now")
	for _, want := range []string{"Answered before", "SQLite", "Ana"} {
		if !contains(page.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if contains(page.body, `value="=lite" checked`) || contains(page.body, `value="=pg" checked`) {
		t.Error("an earlier answer is filled in")
	}
}

// slowHistory counts the reads and delays them.
type slowHistory struct {
	*bus
	reads atomic.Int32
}

func (s *slowHistory) List(ctx context.Context, q responder.Query) (responder.Page, error) {
	s.reads.Add(1)
	select {
	case <-ctx.Done():
	case <-time.After(300 * time.Millisecond): // as long as for a long session
	}
	return s.bus.List(ctx, q)
}

func TestEarlierAnswersAreReadOnce(t *testing.T) {
	t.Parallel()
	b := &slowHistory{bus: newBus()}
	b.ask(question("db", database()), 0)
	u := serveAsks(t, b.bus, b).signedIn(t, mei)
	for range 10 {
		u.get("/ask/default/s1/db")
	}
	if n := b.reads.Load(); n != 1 {
		t.Errorf("the history was read %d times for ten pages", n)
	}
}
