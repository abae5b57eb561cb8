package board

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// TestAHeadIsSmall is not parallel: it counts bytes.
func TestAHeadIsSmall(t *testing.T) {
	const n = 100_000
	b := newBoard(&source{}, Options{})
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
	if b.size > b.most || b.all.Len() < 50 {
		t.Errorf("%d bytes in %d bodies", b.size, b.all.Len())
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
	b := newBoard(&source{}, Options{Ended: 3})
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

// A catch-up after a long outage, in which every ask was replaced, takes the
// board's lock for a time that grows with the number of asks, not its square.
func TestACatchUpMovesFewHeads(t *testing.T) {
	t.Parallel()
	const n = 200_000
	b := newBoard(&source{}, Options{Limit: n})
	now := time.Now()
	round := func(prefix string) []ask.Record {
		recs := make([]ask.Record, n)
		for i := range recs { // the last come first in the queue
			id := fmt.Sprintf("%s%07d", prefix, i)
			recs[i] = ask.Record{State: ask.StatePending, Life: id, AskedAt: now, Ask: ask.Ask{ID: id, Tenant: "acme", Session: "s1", Deadline: now.Add(time.Duration(n-i) * time.Second)}}
		}
		return recs
	}
	before, after := round("before"), round("after")
	(*boardFollower)(b).apply(wire.Mark{Full: true}, before, nil, 1)
	began := time.Now()
	(*boardFollower)(b).apply(wire.Mark{Full: true}, after[1:], nil, 2)
	t.Logf("the catch-up of %d asks took %s", n, time.Since(began))
	heads, total := b.Pending(Filter{}, 0, n)
	if total != n-1 || heads[0].Key.ID != after[n-1].Ask.ID || !slices.IsSortedFunc(b.order.heads, func(x, y *head) int { return int(x.deadline - y.deadline) }) {
		t.Errorf("%d asks, the first is %v", total, heads[0].Key)
	}
	if b.order.batch || b.order.added != nil {
		t.Error("the batch goes on")
	}
}

// A list of no asks, or from before the first one, is not an error.
func TestNegativeLimits(t *testing.T) {
	t.Parallel()
	b := newBoard(&source{}, Options{})
	rec := ask.Record{Life: "l", Ask: ask.Ask{ID: "a", Tenant: "acme", Session: "s1"}}
	b.add(b.headOf(&rec))
	for _, group := range []Grouping{Ungrouped, BySession} {
		if heads, total := b.Pending(Filter{Group: group}, 0, -1); len(heads) != 0 || total != 1 {
			t.Errorf("%q: %d of %d", group, len(heads), total)
		}
		if heads, total := b.Pending(Filter{Group: group}, -1, 5); len(heads) != 1 || total != 1 {
			t.Errorf("%q: %d of %d", group, len(heads), total)
		}
	}
}

// What a board keeps is bounded in bytes, whatever part of an ask is large.
func TestLargeAsksAreBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 200_000)
	for name, a := range map[string]ask.Ask{
		"context":  {Context: large},
		"metadata": {Metadata: map[string]any{"a": []any{map[string]any{"b": large}}}},
		"default":  {Questions: []ask.Question{{Default: &ask.Answer{Text: large}}}},
		"preview":  {Questions: []ask.Question{{Options: []ask.Option{{Preview: &ask.Preview{Body: large}}}}}},
	} {
		b := newBoard(&source{}, Options{})
		for i := range 1000 {
			rec := ask.Record{State: ask.StatePending, Life: fmt.Sprint("l", i), Ask: a}
			rec.Ask.ID, rec.Ask.Tenant, rec.Ask.Session = fmt.Sprint("a", i), "acme", "s1"
			b.bodies.put(rec, time.Now())
			rec.State, rec.Outcome = ask.StateResolved, &ask.Outcome{Status: ask.StatusExpired}
			b.Learn(rec)
		}
		if n := b.bodies.all.Len(); n > 16<<20/200_000 {
			t.Errorf("%s: %d bodies of 200 kB", name, n)
		}
		if n := len(b.Ended(Filter{})); n > maxEndedBytes/200_000 || n < 10 {
			t.Errorf("%s: %d ended asks of 200 kB", name, n)
		}
	}
}
