package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/auditlog"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"golang.org/x/mod/sumdb/note"
)

// AuditReport is what the audit costs: the ask cycle on a bus with it, and on one
// without, in the same run and alternating.
type AuditReport struct {
	Machine Machine    `json:"machine"`
	Quick   bool       `json:"quick,omitempty"`
	Log     bool       `json:"log,omitempty"`
	Cycle   []CycleRow `json:"cycle"`  // with the audit; its "floor" is the bus without, or with Log the bus without its log
	Behind  []Figure   `json:"behind"` // for each row: ms after a round until the audit had everything
}

// Write prints the report for a person.
func (r AuditReport) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", r.Machine)
	WriteCycle(out, r.Cycle)
	what := "audit"
	if r.Log {
		what = "log that proves the audit"
	}
	fmt.Fprintf(out, "\nfloor: the same bus without the %s, in the same run, alternating\n", what)
	for i, f := range r.Behind {
		fmt.Fprintf(out, "%d in flight: the audit had everything %.0f ms after a round (%.0f–%.0f)\n", r.Cycle[i].InFlight, f.Median, f.Least, f.Most)
	}
	return nil
}

// Audit measures the ask cycle with and without the audit, or, with log, with
// and without a log that takes each record within a second, in this process.
// After each round it waits until the audit has everything, so that no round
// pays for another one's copies; how long that takes is a figure, too.
func Audit(ctx context.Context, opts Options, log bool, plan Plan) (AuditReport, error) {
	plan.fill()
	r := AuditReport{Machine: ThisMachine(), Log: log}
	var beds [2]*Bed
	var systems [2]Named
	for i, name := range []string{NameAskbus, NameFloor} {
		opts.NoAudit = name == NameFloor && !log
		bed, err := Embedded(ctx, opts)
		if err != nil {
			return r, err
		}
		defer bed.Close()
		asks, err := bed.NewAsks(ctx, agentsFor(plan.InFlight))
		if err != nil {
			return r, err
		}
		if log && name == NameAskbus {
			if err := bed.keepLog(ctx, opts.Dir); err != nil {
				return r, err
			}
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

// keepLog keeps a log of the bed's audit until the bed closes.
func (b *Bed) keepLog(ctx context.Context, parent string) error {
	nc, err := b.open(rights.Role{Name: rights.RoleAuditor})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(parent, "askbus-bench-log-")
	if err != nil {
		return err
	}
	b.later(func() { _ = os.RemoveAll(dir) })
	secret, _, err := note.GenerateKey(rand.Reader, "bench")
	if err != nil {
		return err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return err
	}
	l, err := auditlog.Open(dir, true)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() {
		done <- l.Follow(running, auditlog.Options{Signer: signer, Every: time.Second, Settle: -1, Logger: b.log, Read: func(ctx context.Context, from uint64, most int) ([]audit.Raw, error) {
			return audit.ReadRaw(ctx, nc, from, most)
		}})
	}()
	b.later(func() {
		stop()
		if err := <-done; err != nil {
			b.log.Warn("the log of the audit failed", slog.Any("error", err))
		}
		l.Close()
	})
	return nil
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
