package daemon

import "testing"

func TestASmallHeapMayGrowByMore(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 4 << 20: 400, 32 << 20: 400, 40 << 20: 300, 80 << 20: 150, 128 << 20: 100, 1 << 30: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("a heap of %d MiB may grow by %d %%, want %d", live>>20, got, want)
		}
	}
}

func TestAnIdleHeapIsCollectedAsUsual(t *testing.T) {
	t.Parallel()
	h := heap{cycles: 7}
	for look, c := range []struct {
		cycles uint64
		want   int
	}{{8, 100}, {9, 100}, {11, heapPercent}, {11, heapPercent}, {12, heapPercent}} { // one a second is no load
		if got := h.percent(4<<20, c.cycles); got != c.want {
			t.Errorf("look %d: %d %%, want %d", look, got, c.want)
		}
	}
	for range heapCalm - 3 {
		if got := h.percent(4<<20, 12); got != heapPercent {
			t.Fatalf("%d %% so soon after load, want %d", got, heapPercent)
		}
	}
	if got := h.percent(4<<20, 12); got != 100 {
		t.Errorf("%d %% after the load is over, want 100", got)
	}
	if got := h.percent(1<<30, 20); got != 100 {
		t.Errorf("a large heap under load: %d %%, want 100", got)
	}
}
