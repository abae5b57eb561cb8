package daemon

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// By default a heap is collected when it has doubled. A process with little in
// memory then collects many times a second under load.
const (
	heapSpare   = 128 << 20 // how much a small heap may grow before it is collected
	heapPercent = 400       // but at most by this, so that an idle process stays small
	heapEvery   = 10 * time.Second
)

// EaseHeap lets a small heap grow by more than its size before it is collected,
// until ctx ends. It does nothing if the environment sets GOGC.
func EaseHeap(ctx context.Context) {
	if os.Getenv("GOGC") != "" { //nolint:forbidigo // a setting of the Go runtime, not of askbus
		return
	}
	tick := time.NewTicker(heapEvery)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := 0; ; {
		metrics.Read(live)
		if p := gcPercent(live[0].Value.Uint64()); p != set {
			debug.SetGCPercent(p)
			set = p
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// gcPercent returns by how many percent a heap of live bytes may grow, in steps
// of 50, because each change stops the process for a moment.
func gcPercent(live uint64) int {
	p := heapPercent
	if live > 0 {
		p = int(min(100*heapSpare/live, heapPercent))
	}
	return max(100, p/50*50)
}
