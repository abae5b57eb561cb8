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
