package ledger

import (
	"testing"
	"time"
)

func TestTheSmallestServerCountsUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	var s limits
	now := time.Now()
	is := func(name string, bytes int64) {
		t.Helper()
		if n, b := s.smallest(); n != name || b != bytes || s.least() != bytes {
			t.Errorf("%s with %d, want %s with %d", n, b, name, bytes)
		}
	}
	is("", 0)
	s.note("n1", 300, now)
	s.note("n2", 100, now)
	is("n2", 100)
	s.note("n1", 300, now.Add(limitsKept)) // n2 is silent
	is("n2", 100)
	s.note("n1", 300, now.Add(limitsKept+1))
	is("n1", 300)
	s.note("n1", 0, now.Add(2*limitsKept+1)) // its JetStream is off
	is("n1", 300)
	s.note("n1", 0, now.Add(2*limitsKept+2))
	is("", 0)
}

func TestTheSmallerOfTwoLimits(t *testing.T) {
	t.Parallel()
	for want, all := range map[int64][]int64{0: {0, -1, 0}, 5: {5, -1, 0}, 3: {5, 3, 0}, 4: {0, 0, 4}} {
		if got := smaller(all...); got != want {
			t.Errorf("%v: %d, want %d", all, got, want)
		}
	}
}
