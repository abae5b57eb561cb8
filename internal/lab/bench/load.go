package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
)

// System executes ask cycles: askbus, the floor, or an alternative product.
type System interface {
	// Cycle asks, has the ask shown and answered, and returns when the asker has the outcome. It is
	// called concurrently from as many goroutines as there are slots.
	Cycle(ctx context.Context, slot int) error
}

// Sample is the result of one round of load.
type Sample struct {
	Cycles int
	P50    time.Duration
	P99    time.Duration
	PerSec float64
	CPU    time.Duration // of this process, for one cycle; everything embedded is in it
}

const (
	cycleLimit = 30 * time.Second // ends a cycle that hangs
	grace      = 5 * time.Second  // for cycles under way when the measurement is stopped
)

// Drive keeps inFlight cycles running for d, and lets the last ones finish even after ctx ends.
func Drive(ctx context.Context, sys System, inFlight int, d time.Duration) (Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work, stop := connection.WithGrace(ctx, grace)
	defer stop()
	took := make([][]time.Duration, inFlight)
	began, used := time.Now(), cpuTime()
	var workers sync.WaitGroup
	for slot := range inFlight {
		workers.Go(func() {
			for n := 0; (n == 0 || time.Since(began) < d) && ctx.Err() == nil; n++ { // once, even if it gets a processor late
				one, done := context.WithTimeout(work, cycleLimit)
				start := time.Now()
				err := sys.Cycle(one, slot)
				done()
				if err != nil {
					cancel(fmt.Errorf("bench: a cycle failed: %w", err))
					return
				}
				took[slot] = append(took[slot], time.Since(start))
			}
		})
	}
	workers.Wait()
	elapsed := time.Since(began)
	if err := context.Cause(ctx); err != nil {
		return Sample{}, err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return Sample{
		Cycles: len(all), P50: percentile(all, 50), P99: percentile(all, 99),
		PerSec: float64(len(all)) / elapsed.Seconds(), CPU: (cpuTime() - used) / time.Duration(max(1, len(all))),
	}, nil
}

// percentile returns the p-th percentile of sorted values.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// Figure is the median of several rounds and their spread.
type Figure struct{ Median, Least, Most float64 }

// figure summarizes rounds.
func figure(rounds []float64) Figure {
	if len(rounds) == 0 {
		return Figure{}
	}
	s := slices.Sorted(slices.Values(rounds))
	mid := s[len(s)/2]
	if len(s)%2 == 0 {
		mid = (s[len(s)/2-1] + mid) / 2
	}
	return Figure{mid, s[0], s[len(s)-1]}
}
