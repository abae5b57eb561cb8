package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// BusesOptions says over how many buses and tenants the same sessions are spread.
type BusesOptions struct {
	Shapes   []string // BUSESxTENANTS
	Sessions int      // over all of them; at least one for each tenant
}

// Buses is what several tenants of a bus cost, and several buses on one server.
type Buses struct {
	Machine Machine    `json:"machine"`
	Rows    []BusesRow `json:"rows"`
}

// BusesRow is the cycle with one shape, everything in one process: a server, and
// for each bus a broker, for each tenant a screen, for each session an agent.
type BusesRow struct {
	Buses    int     `json:"buses"`
	Accounts int     `json:"accounts"` // of NATS: two for each bus
	Tenants  int     `json:"tenants"`  // over all buses
	Sessions int     `json:"sessions"`
	Streams  int     `json:"streams"`
	Ready    float64 `json:"ready_s"` // from the start of the first broker until all serve
	PerSec   Figure  `json:"per_s"`
	P50      Figure  `json:"p50_us"`
	P99      Figure  `json:"p99_us"`
	CPU      Figure  `json:"cpu_us"`
}

// Write prints the report for a person.
func (b Buses) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", b.Machine)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "buses\taccounts\ttenants\tsessions\tstreams\tready\tcycles/s\tp50\tp99\tCPU\t")
	for i := range b.Rows {
		r := &b.Rows[i]
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%.1f s\t%.0f (%.0f–%.0f)\t%s\t%s\t%s\t\n", r.Buses, r.Accounts, r.Tenants, r.Sessions, r.Streams, r.Ready,
			r.PerSec.Median, r.PerSec.Least, r.PerSec.Most, ms(&r.P50.Median), ms(&r.P99.Median), ms(&r.CPU.Median))
	}
	return w.Flush()
}

// MeasureBuses measures the cycle at 64 in flight with each shape.
func MeasureBuses(ctx context.Context, o BusesOptions, plan Plan) (Buses, error) {
	plan.fill()
	all := Buses{Machine: ThisMachine()}
	for _, shape := range o.Shapes {
		var buses, tenants int
		if n, err := fmt.Sscanf(shape, "%dx%d", &buses, &tenants); n != 2 || err != nil || buses < 1 || tenants < 1 || fmt.Sprintf("%dx%d", buses, tenants) != shape {
			return all, fmt.Errorf("bench: invalid shape %q: use BUSESxTENANTS, such as 4x16", shape)
		}
		plan.Progress(fmt.Sprintf("%d buses of %d tenants", buses, tenants))
		row, err := measureBuses(ctx, buses, tenants, o.Sessions, plan)
		if err != nil {
			return all, err
		}
		all.Rows = append(all.Rows, row)
	}
	return all, nil
}

func measureBuses(ctx context.Context, buses, tenants, sessions int, plan Plan) (row BusesRow, err error) {
	dir, err := os.MkdirTemp("", "askbus-bench-")
	if err != nil {
		return row, fmt.Errorf("bench: %w", err)
	}
	host := &Bed{log: logger(nil)}
	defer func() { host.Close(); _ = os.RemoveAll(dir) }()
	var beside []string
	for i := range buses - 1 {
		one := filepath.Join(dir, fmt.Sprint("bus-", i))
		if _, err := natsd.Init(one); err != nil {
			return row, fmt.Errorf("bench: %w", err)
		}
		beside = append(beside, one)
	}
	srv, err := host.serve(dir, 1, beside...) //nolint:contextcheck // it works until it is closed
	if err != nil {
		return row, err
	}
	row = BusesRow{Buses: buses, Accounts: 2 * buses, Tenants: buses * tenants}
	began := time.Now()
	beds := make([]*Bed, buses)
	for i := range beds {
		keys := srv.keys
		if i > 0 {
			if keys, err = rights.LoadIssuer(beside[i-1]); err != nil {
				return row, fmt.Errorf("bench: %w", err)
			}
		}
		b := &Bed{embedded: true, Replicas: 1, Sync: "always", run: runID(), log: host.log, verifier: keys.Verifier(), dial: func(r rights.Role) (*nats.Conn, error) {
			c, err := keys.Asserting(srv.urls[0], r, assertion.Anything())
			if err != nil {
				return nil, err
			}
			return connection.Connect(c, host.log)
		}}
		host.later(b.Close)
		if err := b.broker(ctx, ledger.Options{}); err != nil {
			return row, err
		}
		row.Streams += b.Partitions + 2 // shared state and the audit
		beds[i] = b
	}
	row.Ready = hundredths(time.Since(began).Seconds())
	var all spread
	each := max(1, sessions/(buses*tenants))
	for i, b := range beds {
		for t := range tenants {
			asks, err := b.forTenant(fmt.Sprintf("tenant-%d-%d", i, t)).NewAsks(ctx, each)
			if err != nil {
				return row, err
			}
			all = append(all, asks)
			row.Sessions += each
		}
	}
	rounds, err := Alternate(ctx, []Named{{NameAskbus, all}}, 64, plan)
	if err != nil {
		return row, err
	}
	ours := rounds[NameAskbus]
	row.PerSec, row.P50, row.P99, row.CPU = ours.Of(perSec), ours.Of(p50), ours.Of(p99), ours.Of(cpu)
	return row, nil
}

// forTenant is a bed of the same bus that asks in one tenant.
func (b *Bed) forTenant(tenant string) *Bed {
	one := *b
	one.Tenant, one.closes = tenant, nil
	b.later(one.Close)
	return &one
}

// spread is the cycle in turn of several tenants.
type spread []*Asks

// Cycle implements [System].
func (s spread) Cycle(ctx context.Context, slot int) error {
	return s[slot%len(s)].Cycle(ctx, slot/len(s))
}
