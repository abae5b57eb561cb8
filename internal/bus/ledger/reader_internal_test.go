package ledger

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// Readers that are kept for a page that is never requested are dropped, with
// the messages that they read ahead.
func TestKeptReadersAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rs readers
		at := position{"ASKS_00", "f", 7}
		k := &keptReader{&reader{ahead: make([]message, 3)}, make(chan struct{}), 3}
		close(k.ready)
		rs.put(at, k)
		if r := rs.acquire(t.Context(), at.stream, at.filter, at.seq); r != k.reader {
			t.Fatalf("took %v", r)
		}
		rs.put(at, k)
		time.Sleep(forget + time.Millisecond) // of the synctest clock
		synctest.Wait()
		if len(rs.kept) != 0 || rs.size != 0 {
			t.Errorf("%d readers are kept, of %d bytes", len(rs.kept), rs.size)
		}
	})
}

// Readers are kept while there is room for what they have read ahead.
func TestKeptReadersHaveFewBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rs readers
		large := func(i int) (position, *reader) {
			return position{"ASKS_00", "f", uint64(i)}, &reader{stream: "ASKS_00", filter: "f", ahead: []message{{Msg: &nats.Msg{Data: make([]byte, 1<<20)}}}}
		}
		for i := range maxReaders {
			at, r := large(i)
			rs.keep(t.Context(), r, at.seq, 1)
		}
		synctest.Wait()
		n := len(rs.kept)
		if n < maxKept>>21 || n*1<<20 > maxKept || rs.size > maxKept || rs.size < n<<20 {
			t.Errorf("%d readers are kept, of %d bytes", n, rs.size)
		}
		at, r := large(maxReaders)
		if rs.keep(t.Context(), r, at.seq, 1); rs.acquire(t.Context(), at.stream, at.filter, at.seq) != nil {
			t.Error("one more was kept")
		}
		if rs.acquire(t.Context(), "ASKS_00", "f", 0) == nil {
			t.Error("the first one is gone")
		}
		if rs.keep(t.Context(), r, at.seq, 1); rs.acquire(t.Context(), at.stream, at.filter, at.seq) != r {
			t.Error("there was room again")
		}
		time.Sleep(forget + time.Millisecond) // of the synctest clock
		synctest.Wait()
		if len(rs.kept) != 0 || rs.size != 0 {
			t.Errorf("%d readers are kept, of %d bytes", len(rs.kept), rs.size)
		}
	})
}
