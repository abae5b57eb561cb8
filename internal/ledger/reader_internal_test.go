package ledger

import (
	"testing"
	"testing/synctest"
	"time"
)

// Readers that are kept for a page that is never requested are dropped, with
// the messages that they read ahead.
func TestKeptReadersAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rs readers
		at := position{"ASKS_00", "f", 7}
		k := keptReader{&reader{ahead: make([]message, 3)}, make(chan struct{})}
		close(k.ready)
		rs.put(at, k)
		if r := rs.take(t.Context(), at.stream, at.filter, at.seq); r != k.reader {
			t.Fatalf("took %v", r)
		}
		rs.put(at, k)
		time.Sleep(forget + time.Millisecond) // of the synctest clock
		synctest.Wait()
		if len(rs.kept) != 0 {
			t.Errorf("%d readers are kept", len(rs.kept))
		}
	})
}
