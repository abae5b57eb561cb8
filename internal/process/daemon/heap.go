package daemon

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/gcstart"
)

// By default a heap is collected when it has doubled. A process with little in
// memory then collects many times a second under load, which is a tenth of the
// processor time of an ask. A fixed GOGC is too much for a large heap (a million
// pending asks would take more than 2 GB) or too little for a small one; the right
// memory limit depends on the machine.
const (
	heapSpare   = 128 << 20 // how much a small heap may grow before it is collected
	heapPercent = 400       // but at most by this
	heapEvery   = time.Second
	heapBusy    = 2  // collections between two looks that count as load
	heapCalm    = 60 // looks with at most one collection each, after which the load is over
)

// EaseHeap lets a small heap grow by more than its size before it is collected,
// while there is load, until ctx ends. It does nothing if the environment sets
// GOGC.
func EaseHeap(ctx context.Context) {
	if os.Getenv("GOGC") != "" { //nolint:forbidigo // a setting of the Go runtime, not of askbus
		return
	}
	gcstart.Over()
	seen := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(seen)
	h := heap{cycles: seen[1].Value.Uint64()}
	for set := 100; backoff.Sleep(ctx, heapEvery) == nil; {
		metrics.Read(seen)
		if p := h.percent(seen[0].Value.Uint64(), seen[1].Value.Uint64()); p != set {
			debug.SetGCPercent(p)
			set = p
		}
	}
}

// heap is what EaseHeap remembers from one look at the collector to the next.
type heap struct {
	cycles uint64 // collections until the last look
	calm   int    // how many more looks count as load
}

// percent returns by how many percent the heap may grow, given how many bytes
// of it live and how many collections there have been.
func (h *heap) percent(live, cycles uint64) int {
	h.calm = max(0, h.calm-1)
	if cycles-h.cycles >= heapBusy {
		h.calm = heapCalm
	}
	h.cycles = cycles
	if h.calm == 0 {
		return 100
	}
	return gcPercent(live)
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
