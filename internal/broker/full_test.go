package broker_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

func bigAsk(id string, timeout time.Duration) ask.Ask {
	a := storage()
	a.ID, a.Timeout, a.Context = id, timeout, strings.Repeat("x", 60_000)
	return a
}

// New asks are refused while there is still room for every pending one to end.
func TestTheReserveIsEnoughForEveryPendingAskToEnd(t *testing.T) {
	t.Parallel()
	const budget = 4 << 20
	b := natstest.Start(t, natstest.Options{NoBroker: true, Ledger: ledger.Options{Budget: budget, Partitions: 1}})
	b.Broker(broker.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	ids := 0
	for ; ; ids++ {
		_, err := c.Ask(t.Context(), bigAsk(fmt.Sprint("a", ids), time.Hour))
		if e, ok := errors.AsType[*ask.Error](err); ok && e.Code == ask.CodeLedgerFull {
			break
		}
		if err != nil || ids*60_000 > budget {
			t.Fatalf("%d asks: %v", ids, err)
		}
	}
	const share = budget - 1<<20 // the rest is the audit's, whose use is known with a delay
	if used := ids * 60_000; used < share/4 || used > budget/20*10 {
		t.Errorf("%d bytes of %d are pending", used, budget)
	}
	for i := range ids { // each as large as its question
		if _, err := r.Answer(t.Context(), keyOf(fmt.Sprint("a", i)), pick("pg")); err != nil {
			t.Fatal(err)
		}
	}
}

// In a store that is full after all, reads work, nothing is lost, and overdue
// asks end as soon as there is room, without a restart.
func TestAFullStoreIsReadAndEndsItsAsksWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	// The broker's budget is larger than the store.
	b := natstest.Start(t, natstest.Options{NoBroker: true, MaxStore: 4 << 20, Ledger: ledger.Options{Budget: 1 << 40, Partitions: 1}})
	b.Broker(broker.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	if _, err := c.Ask(t.Context(), bigAsk("first", time.Hour)); err != nil {
		t.Fatal(err)
	}
	for i := range 10 { // withdrawn later, to make room
		id := fmt.Sprint("old", i)
		if _, err := c.Ask(t.Context(), bigAsk(id, time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Withdraw(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
	nc := plain(t, b, agent("s1"))
	var due time.Time
	n := 0
	for ; ; n++ {
		if time.Until(due) < 5*time.Second { // also on a busy machine, where filling the store takes longer
			due = time.Now().Add(10 * time.Second)
		}
		a := bigAsk(fmt.Sprint("a", n), 0)
		a.Deadline = due
		reply, err := askRaw(t, nc, a)
		if err != nil {
			t.Fatal(err)
		}
		if reply != "" {
			if reply != ask.CodeLedgerFull {
				t.Fatalf("refused with %s", reply)
			}
			break
		}
	}
	if n < 10 {
		t.Fatalf("only %d asks", n)
	}
	late := keyOf(fmt.Sprint("a", n-1))
	<-time.After(time.Until(due.Add(3 * time.Second))) // the server's own timer
	for range 3 {
		if _, err := r.Get(t.Context(), late); err != nil {
			t.Errorf("reading what is due: %v", err)
		}
		if recs, err := collect(r.All(t.Context(), responder.Query{State: ask.StatePending})); err != nil || len(recs) == 0 {
			t.Errorf("a list: %d, %v", len(recs), err)
		}
	}
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), subject.Stream(0))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(subject.LedgerOutcome(0, keyOf(fmt.Sprint("old", i))))); err != nil {
			t.Fatal(err)
		}
	}
	natstest.Eventually(t, "only the first is pending", func() bool {
		recs, err := collect(r.All(t.Context(), responder.Query{State: ask.StatePending}))
		return err == nil && len(recs) == 1 && recs[0].Ask.ID == "first"
	})
	if rec, err := r.Get(t.Context(), late); err != nil || rec.Outcome == nil || rec.Outcome.Status != ask.StatusExpired {
		t.Errorf("%+v, %v", rec.State, err)
	}
}

// askRaw asks once, and returns the code of a refusal.
func askRaw(t *testing.T, nc *nats.Conn, a ask.Ask) (code string, err error) {
	t.Helper()
	body, err := wire.EncodeAsk(&a)
	if err != nil {
		return "", err
	}
	m := request(t, nc, askSubject("s1", a.ID), nil, event(cloudevent.TypeAsked, a.ID, string(body)))
	if m.Header.Get(micro.ErrorCodeHeader) == "" {
		return "", nil
	}
	return problem(t, m).Code, nil
}

func collect(all iter.Seq2[ask.Record, error]) (recs []ask.Record, err error) {
	for rec, err := range all {
		if err != nil {
			return recs, err
		}
		recs = append(recs, rec)
	}
	return recs, nil
}
