package board

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// An outcome that is republished, as after a crash, is told once for as long as
// the watch remembers it; older ones do not pile up.
func TestAWatchRemembersEndingsForAWhile(t *testing.T) {
	t.Parallel()
	told := 0
	w, err := newWatch(&source{opts: responder.Options{Limit: 10}}, func(Event) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	end := func(id string) {
		a := ask.Ask{ID: id, Tenant: "acme", Session: "s1"}
		w.resolved(ask.Record{State: ask.StateResolved, Ask: a, Outcome: &ask.Outcome{AskID: id, At: time.Unix(1, 0), Ask: &a}})
	}
	end("a1")
	end("a1")
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	for i := range 1000 {
		end(string(rune('b' + i)))
	}
	end("a1")
	if told != 1002 { // again only after it was forgotten
		t.Errorf("told %d times", told)
	}
	if n := w.ended.Len(); n > 4*w.r.opts.Limit {
		t.Errorf("%d endings are remembered", n)
	}
}

// A snapshot that began before a vote was told does not tell the question without it.
func TestAWatchTellsNothingOlder(t *testing.T) {
	t.Parallel()
	var told []string
	w, err := newWatch(&source{opts: responder.Options{Limit: 10}}, func(e Event) {
		if e.Kind == Pending {
			told = append(told, fmt.Sprint(e.Record.Life, e.Record.Seq))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	pending := func(life string, seq uint64) ask.Record {
		return ask.Record{State: ask.StatePending, Life: life, Seq: seq, Ask: ask.Ask{ID: "a", Tenant: "acme", Session: "s1"}}
	}
	w.pending(pending("l", 1))
	old := snapshot{known: maps.Clone(w.known), pending: []ask.Record{pending("l", 1)}}
	w.pending(pending("l", 2))
	w.apply(old)
	w.apply(snapshot{known: maps.Clone(w.known), pending: []ask.Record{pending("l", 2)}})
	w.apply(snapshot{known: maps.Clone(w.known), pending: []ask.Record{pending("m", 1)}}) // the ledger is another one
	if got := strings.Join(told, " "); got != "l1 l2 m1" {
		t.Errorf("told %s", got)
	}
}
