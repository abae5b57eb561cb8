package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// System is something that carries out ask cycles: askbus, the floor, or what
// people would use instead.
type System interface {
	// Cycle asks, has somebody see it and answer, and returns when the asker
	// has the outcome. It is called at once from as many goroutines as there
	// are slots.
	Cycle(ctx context.Context, slot int) error
}

// Sample is what one round of load gave.
type Sample struct {
	Cycles int
	P50    time.Duration
	P99    time.Duration
	PerSec float64
	CPU    time.Duration // of this process, for one cycle; everything embedded is in it
}

// cycleLimit ends a cycle that hangs.
const cycleLimit = 30 * time.Second

// Drive keeps inFlight cycles under way for d, and lets the last ones finish.
func Drive(ctx context.Context, sys System, inFlight int, d time.Duration) (Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([][]time.Duration, inFlight)
	began, used := time.Now(), cpuTime()
	var workers sync.WaitGroup
	for slot := range inFlight {
		workers.Go(func() {
			for time.Since(began) < d && ctx.Err() == nil {
				one, done := context.WithTimeout(ctx, cycleLimit)
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

// percentile is the value below which p percent of sorted values lie.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// Figure is the median of several rounds, and their spread.
type Figure struct{ Median, Least, Most float64 }

// figure sums rounds up.
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
