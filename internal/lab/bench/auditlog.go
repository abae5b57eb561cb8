package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/auditlog"
	"github.com/askbus/askbus/internal/server/rights"
	"golang.org/x/mod/sumdb/note"
)

// AuditLogReport is what the log that proves the audit costs.
type AuditLogReport struct {
	Machine Machine       `json:"machine"`
	Quick   bool          `json:"quick,omitempty"`
	Rows    []AuditLogRow `json:"rows"`
}

// AuditLogRow is the processor time, in microseconds, of one cycle and of what the log does for it.
// Reading is that of the server, the broker and the log's connection; the log's own process does
// more than half of it, and everything else.
type AuditLogRow struct {
	InFlight int    `json:"in_flight"`
	Cycle    Figure `json:"cycle_cpu_us"`   // without the log
	Records  Figure `json:"records"`        // of a cycle
	Read     Figure `json:"read_cpu_us"`    // of a record: it is read
	Added    Figure `json:"log_cpu_us"`     // of a record: it is read, hashed, and in the log
	Share    Figure `json:"share_of_cycle"` // of both, for all records of a cycle
	ReadOnly Figure `json:"read_of_cycle"`
}

// Write prints the report for a person.
func (r AuditLogReport) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", r.Machine)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "in flight\tcycle\trecords\ta record is read\tin the log\tof the cycle: read\tall\t")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(w, "%d\t%.0f µs\t%.1f\t%.1f µs\t%.1f µs\t%.1f %%\t%.1f %%\t\n", row.InFlight, row.Cycle.Median, row.Records.Median, row.Read.Median, row.Added.Median, 100*row.ReadOnly.Median, 100*row.Share.Median)
	}
	return w.Flush()
}

// AuditLog measures the ask cycle, and after each round what the log of the audit spends on the
// round's records: so neither pays for the other, and the figures do not depend on how often it looks.
func AuditLog(ctx context.Context, opts Options, plan Plan) (AuditLogReport, error) {
	plan.fill()
	r := AuditLogReport{Machine: ThisMachine()}
	bed, err := Embedded(ctx, opts)
	if err != nil {
		return r, err
	}
	defer bed.Close()
	asks, err := bed.NewAsks(ctx, agentsFor(plan.InFlight))
	if err != nil {
		return r, err
	}
	l, o, err := bed.newLog(opts.Dir)
	if err != nil {
		return r, err
	}
	for _, n := range plan.InFlight {
		var cycle, records, read, added, share, readOnly []float64
		for round := -1; round < plan.Rounds; round++ { // the first one is for connections, caches, pools
			plan.Progress(fmt.Sprintf("%d in flight, round %d of %d", n, round+1, plan.Rounds))
			sample, err := Drive(ctx, Named{NameAskbus, asks}, n, plan.Round)
			if err != nil {
				return r, err
			}
			if _, err := copied(ctx, bed.ledger); err != nil {
				return r, err
			}
			size, next, before := l.Size, l.Next, cpuTime()
			for from, most := next, 1; most > 0; {
				page, err := o.Read(ctx, from, 256)
				if err != nil {
					return r, err
				}
				if most = len(page); most > 0 {
					from = page[most-1].Seq + 1
				}
			}
			reading := cpuTime() - before
			before = cpuTime()
			if err := l.Once(ctx, o); err != nil {
				return r, err
			}
			all, of := cpuTime()-before, float64(l.Size-size)
			if round < 0 || of == 0 {
				continue
			}
			each := float64(sample.Cycles)
			cycle, records = append(cycle, us(sample.CPU)), append(records, of/each)
			read, added = append(read, us(reading)/of), append(added, us(all)/of)
			share, readOnly = append(share, us(all)/each/us(sample.CPU)), append(readOnly, us(reading)/each/us(sample.CPU))
		}
		r.Rows = append(r.Rows, AuditLogRow{n, figure(cycle), figure(records), figure(read), figure(added), figure(share), figure(readOnly)})
	}
	return r, nil
}

// newLog begins a log of the bed's audit.
func (b *Bed) newLog(parent string) (*auditlog.Log, auditlog.Options, error) {
	nc, err := b.open(rights.Role{Name: rights.RoleAuditor})
	if err != nil {
		return nil, auditlog.Options{}, err
	}
	dir, err := os.MkdirTemp(parent, "askbus-bench-log-")
	if err != nil {
		return nil, auditlog.Options{}, err
	}
	b.later(func() { _ = os.RemoveAll(dir) })
	secret, _, err := note.GenerateKey(rand.Reader, "bench")
	if err != nil {
		return nil, auditlog.Options{}, err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, auditlog.Options{}, err
	}
	l, err := auditlog.Open(dir, true)
	if err != nil {
		return nil, auditlog.Options{}, err
	}
	b.later(l.Close)
	return l, auditlog.Options{Signer: signer, Settle: -1, Read: func(ctx context.Context, from uint64, most int) ([]audit.Raw, error) {
		return audit.ReadRaw(ctx, nc, from, most)
	}}, nil
}

// us returns microseconds.
func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
