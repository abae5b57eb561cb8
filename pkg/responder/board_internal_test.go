package responder

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// TestAHeadIsSmall is not parallel: it counts bytes.
func TestAHeadIsSmall(t *testing.T) {
	const n = 100_000
	b := NewBoard(&Responder{}, BoardOptions{})
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, now := used(), time.Now()
	header := strings.Repeat("x", 1800) // as a message's, of which the life is a part
	for i := range n {
		rec := ask.Record{Life: fmt.Sprintf("%s01J%023d", header, i)[len(header):], Seq: uint64(i), AskedAt: now, Ask: ask.Ask{
			ID: fmt.Sprintf("01K%023d", i), Tenant: "acme", Session: fmt.Sprintf("session-%d", i%1000), Deadline: now.Add(time.Duration(i) * time.Second),
			Title: fmt.Sprintf("Which database should the ledger of service %d use?", i), Agent: ask.Agent{Name: fmt.Sprint("builder-", i%100)}, Audience: []string{"group:platform"},
		}}
		b.add(b.headOf(&rec))
	}
	each := (used() - before) / n
	t.Logf("%d bytes a head", each)
	if each > 330 {
		t.Errorf("a head takes %d bytes", each)
	}
	began := time.Now()
	if heads, total := b.Pending(Filter{Tenant: "acme"}, 0, 200); len(heads) != 200 || total != n {
		t.Error(len(heads), total)
	}
	t.Logf("a page of 200 of %d took %s", n, time.Since(began))
	runtime.KeepAlive(b)
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBodies(100_000)
	for i := range 2000 {
		b.put(ask.Record{Life: "l", Ask: ask.Ask{ID: fmt.Sprint("a", i), Tenant: "acme", Session: "s1", Context: "0123456789"}}, time.Now())
	}
	if b.size > b.most || len(b.byKey) != b.order.Len() || len(b.byKey) < 50 {
		t.Errorf("%d bytes in %d bodies", b.size, len(b.byKey))
	}
	if _, _, ok := b.get(ask.Key{Tenant: "acme", Session: "s1", ID: "a1999"}, "l"); !ok {
		t.Error("the last one is gone")
	}
	if _, _, ok := b.get(ask.Key{Tenant: "acme", Session: "s1", ID: "a1999"}, "another"); ok {
		t.Error("of another life")
	}
}

func TestABoardIgnoresDuplicates(t *testing.T) {
	t.Parallel()
	b := NewBoard(&Responder{}, BoardOptions{Ended: 3})
	changed, stop := b.Changes(Filter{})
	defer stop()
	at := func(life, id string) ask.Record {
		return ask.Record{State: ask.StatePending, Life: life, AskedAt: time.Now(), Ask: ask.Ask{ID: id, Tenant: "acme", Session: "s1"}}
	}
	pending := func(life, id string) { rec := at(life, id); b.add(b.headOf(&rec)) }
	ended := func(life, id string, o *ask.Outcome) {
		rec := at(life, id)
		rec.State, rec.Outcome = ask.StateResolved, o
		b.Learn(rec)
	}
	pending("l1", "a")
	<-changed
	ended("l1", "a", nil)
	if n, e := b.Status().Pending, len(b.Ended(Filter{})); n != 0 || e != 0 {
		t.Errorf("an ask that ended without a trace: %d pending, %d ended", n, e)
	}
	pending("l2", "a")
	ended("l2", "a", &ask.Outcome{Status: ask.StatusExpired})
	ended("l2", "a", &ask.Outcome{Status: ask.StatusExpired})
	if n := len(b.Ended(Filter{})); n != 1 {
		t.Errorf("told twice, it is listed %d times", n)
	}
	pending("l3", "a")
	if n, e := b.Status().Pending, len(b.Ended(Filter{})); n != 1 || e != 0 {
		t.Errorf("an id that is asked again: %d pending, %d ended", n, e)
	}
	for i := range 9 {
		ended(fmt.Sprint("m", i), fmt.Sprint("b", i), &ask.Outcome{Status: ask.StatusExpired})
	}
	if n := len(b.Ended(Filter{})); n != 3 {
		t.Errorf("%d ended are kept", n)
	}
}
