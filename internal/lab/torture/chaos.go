package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// chaos kills and stops the victims of a bus, one at a time, as the seed decides.
type chaos struct {
	bus     Bus
	h       *history
	kill    time.Duration // between kills; 0: none
	stop    time.Duration // between stops; 0: none
	only    string        // prefix of the victims' names; empty: all
	limit   int           // maximum number of kills; 0: no limit
	healed  func(ctx context.Context, victim string)
	kills   int
	stops   int
	ghosts  int
	outage  time.Duration // longest, from the fault to the recovery
	failure error
}

// Stops last from a moment to longer than the shortest deadline.
const longestStop = 2500 * time.Millisecond

// run injects faults until ctx ends; then everything runs again.
func (c *chaos) run(ctx context.Context, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0xc4a05)) //nolint:gosec // a seed is the point
	victims := slices.DeleteFunc(slices.Clone(c.bus.Victims()), func(v Victim) bool {
		return !strings.HasPrefix(v.Name(), c.only)
	})
	if len(victims) == 0 || c.kill == 0 && c.stop == 0 {
		return
	}
	never := time.Now().Add(100 * 24 * time.Hour)
	next := func(every time.Duration) time.Time {
		if every == 0 {
			return never
		}
		return time.Now().Add(every/2 + span(r, every))
	}
	kill, stop := next(c.kill), next(c.stop)
	for {
		at := kill
		if stop.Before(kill) {
			at = stop
		}
		if !until(ctx, at) {
			return
		}
		v, began := victims[r.IntN(len(victims))], c.h.now()
		// Recover a victim even after the end of the run.
		work := context.WithoutCancel(ctx)
		if at.Equal(stop) {
			d := 50*time.Millisecond + span(r, longestStop)
			ok, err := v.Stop(work, d)
			if ok {
				c.stops++
				c.note(v, "stopped for "+d.Round(time.Millisecond).String(), began, err)
			}
			stop = next(c.stop)
			continue
		}
		err := v.Kill(work)
		c.kills++
		c.note(v, "killed", began, err)
		if err == nil && c.healed != nil {
			c.healed(work, v.Name())
		}
		kill = next(c.kill)
		if c.limit > 0 && c.kills >= c.limit {
			kill, c.kill = never, 0
		}
	}
}

func (c *chaos) note(v Victim, what string, began time.Duration, err error) {
	if err != nil {
		what += ": " + err.Error()
		c.failure = fmt.Errorf("torture: %s %w", v.Name(), err)
	}
	c.h.add(Event{Began: began, Who: v.Name(), Op: OpFault, Life: what})
	c.outage = max(c.outage, c.h.now()-began)
}
