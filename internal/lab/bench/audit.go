package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
)

// AuditReport is what the audit costs: the ask cycle on a bus with it, and on one
// without, in the same run and alternating.
type AuditReport struct {
	Machine Machine    `json:"machine"`
	Quick   bool       `json:"quick,omitempty"`
	Cycle   []CycleRow `json:"cycle"`  // with the audit; its "floor" is the bus without
	Behind  []Figure   `json:"behind"` // for each row: ms after a round until the audit had everything
}

// Write prints the report for a person.
func (r AuditReport) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", r.Machine)
	WriteCycle(out, r.Cycle)
	fmt.Fprintf(out, "\nfloor: the same bus without the audit, in the same run, alternating\n")
	for i, f := range r.Behind {
		fmt.Fprintf(out, "%d in flight: the audit had everything %.0f ms after a round (%.0f–%.0f)\n", r.Cycle[i].InFlight, f.Median, f.Least, f.Most)
	}
	return nil
}

// Audit measures the ask cycle with and without the audit. After each round it
// waits until the audit has everything, so that no round pays for another one's
// copies; how long that takes is a figure, too.
func Audit(ctx context.Context, opts Options, plan Plan) (AuditReport, error) {
	plan.fill()
	r := AuditReport{Machine: ThisMachine()}
	var beds [2]*Bed
	var systems [2]Named
	for i, name := range []string{NameAskbus, NameFloor} {
		opts.NoAudit = name == NameFloor
		bed, err := Embedded(ctx, opts)
		if err != nil {
			return r, err
		}
		defer bed.Close()
		asks, err := bed.NewAsks(ctx, agentsFor(plan.InFlight))
		if err != nil {
			return r, err
		}
		beds[i], systems[i] = bed, Named{name, asks}
	}
	for _, n := range plan.InFlight {
		rounds, behind := map[string]Rounds{}, []float64{}
		began := time.Now()
		for round := range plan.Rounds {
			if round > 0 && plan.Limit > 0 && time.Since(began) > plan.Limit/time.Duration(len(plan.InFlight)) {
				break
			}
			for i := range systems {
				at := (i + round) % len(systems)
				s := systems[at]
				plan.Progress(fmt.Sprintf("%d in flight, round %d of %d: %s", n, round+1, plan.Rounds, s.Name))
				if round == 0 { // connections, caches, pools
					if _, err := Drive(ctx, s, n, plan.Round/4); err != nil {
						return r, fmt.Errorf("%s: %w", s.Name, err)
					}
				}
				sample, err := Drive(ctx, s, n, plan.Round)
				if err != nil {
					return r, fmt.Errorf("%s: %w", s.Name, err)
				}
				rounds[s.Name] = append(rounds[s.Name], sample)
				if s.Name == NameFloor {
					continue
				}
				late, err := copied(ctx, beds[at].ledger)
				if err != nil {
					return r, err
				}
				behind = append(behind, float64(late.Milliseconds()))
			}
		}
		r.Cycle, r.Behind = append(r.Cycle, beds[0].row(n, rounds)), append(r.Behind, figure(behind))
	}
	return r, nil
}

// copied waits until the audit has everything, and says how long that took.
func copied(ctx context.Context, led *ledger.Ledger) (time.Duration, error) {
	began := time.Now()
	var failed error
	err := poll(ctx, time.Minute, "the audit does not have everything", func() bool {
		if _, failed = led.RefreshAudit(ctx); failed != nil {
			return false
		}
		return led.AuditUse().Lag == 0
	})
	if err != nil && failed != nil {
		err = failed
	}
	return time.Since(began), err
}
