package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// A row is made again for everything that it is made from, and after a while; nothing of an ask that left the list
// stays.
func TestARowIsMadeOnce(t *testing.T) {
	t.Parallel()
	k, now, made := keptRows{rows: map[ask.Key]*keptRow{}}, time.Unix(0, 0), 0
	key := ask.Key{Tenant: "t", Session: "s", ID: "i"}
	frame := func(from source) entry {
		e := k.row(key, from, now, func() entry { made++; return entry{Version: fmt.Sprint(made)} })
		k.sweep(1)
		return e
	}
	base := source{seq: 1, life: "l"}
	for range 3 {
		if e := frame(base); e.Version != "1" {
			t.Fatalf("it was made %d times", made)
		}
	}
	for name, from := range map[string]source{
		"rewritten": {seq: 2, life: "l"}, "another life": {seq: 1, life: "m"}, "handed over": {seq: 1, life: "l", handed: &board.Handover{}},
		"snoozed": {seq: 1, life: "l", off: now}, "first of its group": {seq: 1, life: "l", group: "g"}, "read by others": {seq: 1, life: "l", others: "Tom"},
		"another page": {seq: 1, life: "l", query: "?from=200"},
	} {
		frame(base)
		was := made
		if frame(from); made != was+1 {
			t.Errorf("%s: it was made %d times", name, made-was)
		}
	}
	frame(base)
	was := made
	now = now.Add(rowStays)
	if frame(base); made != was+1 {
		t.Error("it is never made again")
	}
	for i := range 2000 {
		k.row(ask.Key{ID: fmt.Sprint(i)}, base, now, func() entry { return entry{} })
		k.sweep(1)
	}
	if len(k.rows) != 1 {
		t.Errorf("%d rows are kept", len(k.rows))
	}
}
