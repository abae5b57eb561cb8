package broker_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go/jetstream"
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

// The servers' limit counts if it is below the broker's. When new asks are
// refused there, every pending one can still be answered or expire, also through
// a broker that was started then, and everything can be read.
func TestAServersSmallerLimitCounts(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	b := natstest.Start(t, natstest.Options{NoBroker: true, MaxStore: limit, Ledger: ledger.Options{Budget: 1 << 40}})
	stop := b.Broker(broker.Options{})
	c := newClient(t, b, "s1")
	var begun, due time.Time
	expires := func(n int) bool { return n > 2 && n%2 == 1 }
	ids := 0
	for ; ; ids++ {
		a := bigAsk(fmt.Sprint("a", ids), time.Hour)
		switch ids {
		case 1: // the first also waited for the broker
			begun = time.Now()
		case 2:
			due = time.Now().Add(20*time.Second + 100*time.Since(begun)) // later than the store is full, also on a busy machine
		}
		if expires(ids) {
			a.Timeout, a.Deadline = 0, due
		}
		_, err := c.Ask(t.Context(), a)
		if e, ok := errors.AsType[*ask.Error](err); ok && e.Code == ask.CodeLedgerFull {
			break
		}
		if err != nil || ids*60_000 > limit {
			t.Fatalf("%d asks: %v", ids, err)
		}
	}
	if ids < 20 {
		t.Errorf("only %d asks were taken", ids)
	}
	stop()
	b.Broker(broker.Options{}) // restarted while the store is full
	r := newResponder(t, b, "web")
	if recs, err := collect(r.All(t.Context(), responder.Query{State: ask.StatePending})); err != nil || len(recs) < ids/2 {
		t.Errorf("a list: %d of %d, %v", len(recs), ids, err)
	}
	for i := range ids {
		if expires(i) {
			continue
		}
		if _, err := r.Answer(t.Context(), keyOf(fmt.Sprint("a", i)), pick("pg")); err != nil {
			t.Fatalf("answer %d of %d: %v", i, ids, err)
		}
	}
	natstest.Eventually(t, "nothing is pending", func() bool {
		recs, err := collect(r.All(t.Context(), responder.Query{State: ask.StatePending}))
		return err == nil && len(recs) == 0
	})
	for i := range ids {
		want := ask.StatusAnswered
		if expires(i) {
			want = ask.StatusExpired
		}
		rec, err := r.Get(t.Context(), keyOf(fmt.Sprint("a", i)))
		if err != nil || rec.Outcome == nil || rec.Outcome.Status != want {
			t.Errorf("ask %d: %+v, %v, want %s", i, rec.Outcome, err, want)
		}
	}
}

// In a store that something else has filled, reads work, nothing is lost, and
// overdue asks end as soon as there is room, without a restart.
func TestAFullStoreIsReadAndEndsItsAsksWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true, MaxStore: 8 << 20, Ledger: ledger.Options{Partitions: 1}})
	stop := b.Broker(broker.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	if _, err := c.Ask(t.Context(), bigAsk("first", time.Hour)); err != nil { // which also waits for the broker
		t.Fatal(err)
	}
	begun := time.Now()
	if _, err := c.Ask(t.Context(), bigAsk("answered", time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Answer(t.Context(), keyOf("answered"), pick("pg")); err != nil {
		t.Fatal(err)
	}
	due := time.Now().Add(15*time.Second + 40*time.Since(begun)) // later than the store is full, also on a busy machine
	const n = 10
	for i := range n {
		a := bigAsk(fmt.Sprint("a", i), 0)
		a.Deadline = due
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	other, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = js.Publish(t.Context(), "other", make([]byte, 64<<10))
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); !ok || e.ErrorCode != 10023 {
		t.Fatalf("the store is not full: %v", err)
	}
	stop()
	b.Broker(broker.Options{}) // one that starts now reads as well
	late := keyOf(fmt.Sprint("a", n-1))
	<-time.After(time.Until(due.Add(3 * time.Second))) // the server's own timer
	for range 3 {
		if rec, err := r.Get(t.Context(), late); err != nil || rec.Outcome != nil {
			t.Errorf("reading what is due: %+v, %v", rec.Outcome, err)
		}
		if recs, err := collect(r.All(t.Context(), responder.Query{State: ask.StatePending})); err != nil || len(recs) == 0 {
			t.Errorf("a list: %d, %v", len(recs), err)
		}
	}
	if err := other.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "only the first is pending", func() bool {
		recs, err := collect(r.All(t.Context(), responder.Query{State: ask.StatePending}))
		return err == nil && len(recs) == 1 && recs[0].Ask.ID == "first"
	})
	if rec, err := r.Get(t.Context(), late); err != nil || rec.Outcome == nil || rec.Outcome.Status != ask.StatusExpired {
		t.Errorf("%+v, %v", rec.State, err)
	}
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
