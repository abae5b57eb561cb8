package bench

import (
	"context"
	"fmt"
	"time"
)

// Plan configures the measurement of the cycle. The zero value is a full run.
type Plan struct {
	InFlight []int         // default: 1, 16, 64, 256
	Rounds   int           // of each; default 5
	Round    time.Duration // of one system; default 3s
	Limit    time.Duration // of everything: no new round begins after it; default: none
	Progress func(string)  // told what is under way; default: nobody
}

func (p *Plan) fill() {
	if len(p.InFlight) == 0 {
		p.InFlight = []int{1, 16, 64, 256}
	}
	if p.Rounds == 0 {
		p.Rounds = 5
	}
	if p.Round == 0 {
		p.Round = 3 * time.Second
	}
	if p.Progress == nil {
		p.Progress = func(string) {}
	}
}

// Quick returns a plan that ends within 40 s, even on a busy machine.
func Quick() Plan {
	return Plan{Rounds: 3, Round: 800 * time.Millisecond, Limit: 27 * time.Second}
}

// Named is a system with its name.
type Named struct {
	Name string
	System
}

// Rounds are the samples of one system at one number in flight, one per round.
type Rounds []Sample

// Of summarizes one value over all rounds.
func (r Rounds) Of(value func(Sample) float64) Figure {
	values := make([]float64, len(r))
	for i, s := range r {
		values[i] = value(s)
	}
	return figure(values)
}

// Ratio compares with other round by round, because adjacent rounds ran under the same conditions.
func (r Rounds) Ratio(other Rounds, value func(Sample) float64) Figure {
	var values []float64
	for i := range min(len(r), len(other)) {
		if d := value(other[i]); d > 0 {
			values = append(values, value(r[i])/d)
		}
	}
	return figure(values)
}

// The values of a sample.
func p50(s Sample) float64    { return float64(s.P50.Microseconds()) }
func p99(s Sample) float64    { return float64(s.P99.Microseconds()) }
func perSec(s Sample) float64 { return s.PerSec }
func cpu(s Sample) float64    { return float64(s.CPU.Microseconds()) }

// Alternate drives the systems in turn, round by round, and returns the rounds of each. Every
// second round is in reverse order, so that no system always follows the same one.
func Alternate(ctx context.Context, systems []Named, inFlight int, plan Plan) (map[string]Rounds, error) {
	plan.fill()
	began := time.Now()
	for _, s := range systems { // connections, caches, pools
		if _, err := Drive(ctx, s, inFlight, plan.Round/4); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	all := map[string]Rounds{}
	for round := range plan.Rounds {
		if round > 0 && plan.Limit > 0 && time.Since(began) > plan.Limit {
			break
		}
		for i := range systems {
			s := systems[i]
			if round%2 == 1 {
				s = systems[len(systems)-1-i]
			}
			plan.Progress(fmt.Sprintf("%d in flight, round %d of %d: %s", inFlight, round+1, plan.Rounds, s.Name))
			sample, err := Drive(ctx, s, inFlight, plan.Round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			all[s.Name] = append(all[s.Name], sample)
		}
	}
	return all, nil
}

// Names of the systems of [Bed.Cycle].
const (
	NameAskbus = "askbus"
	NameFloor  = "floor"
)

// agentsFor bounds the connections: beyond that, agents share them.
func agentsFor(inFlight []int) int {
	most := 1
	for _, n := range inFlight {
		most = max(most, n)
	}
	return min(most, 64)
}

// Systems returns askbus and, if there is one, the floor.
func (b *Bed) Systems(ctx context.Context, agents int) ([]Named, error) {
	if err := b.layout(ctx); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	asks, err := b.NewAsks(ctx, agents)
	if err != nil {
		return nil, err
	}
	systems := []Named{{NameAskbus, asks}}
	if b.NoFloor == "" {
		floor, err := b.NewFloor(ctx, asks)
		if err != nil {
			return nil, err
		}
		systems = append(systems, Named{NameFloor, floor})
	}
	return systems, nil
}

// Cycle measures the ask cycle and its floor.
func (b *Bed) Cycle(ctx context.Context, plan Plan) ([]CycleRow, error) {
	plan.fill()
	systems, err := b.Systems(ctx, agentsFor(plan.InFlight))
	if err != nil {
		return nil, err
	}
	var rows []CycleRow
	each := plan
	each.Limit = plan.Limit / time.Duration(len(plan.InFlight))
	for _, n := range plan.InFlight {
		rounds, err := Alternate(ctx, systems, n, each)
		if err != nil {
			return rows, err
		}
		rows = append(rows, b.row(n, rounds))
	}
	return rows, nil
}
