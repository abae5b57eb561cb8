package bench

import (
	"context"
	"fmt"
	"io"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// WithConsumers is the report of the cycle with a number of tenants' consumers.
type WithConsumers struct {
	Consumers int    `json:"consumers"` // on each stream
	Report    Report `json:"report"`
}

// ConsumerCounts are all reports.
type ConsumerCounts []WithConsumers

// Write writes the reports one after the other.
func (c ConsumerCounts) Write(out io.Writer) error {
	for _, w := range c {
		if _, err := fmt.Fprintf(out, "%d consumers of tenants on each stream\n", w.Consumers); err != nil {
			return err
		}
		if err := w.Report.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// Consumers measures the cycle with 0, 50 and 200 single-tenant consumers on each stream: two per
// tenant of a posting surface. The asking tenant is one of them.
func Consumers(ctx context.Context, opts Options, plan Plan) (ConsumerCounts, error) {
	if len(plan.InFlight) == 0 {
		plan.InFlight = []int{1, 64}
	}
	var all ConsumerCounts
	for _, n := range []int{0, 50, 200} {
		r, err := withConsumers(ctx, opts, plan, n)
		if err != nil {
			return all, err
		}
		all = append(all, WithConsumers{n, r})
	}
	return all, nil
}

func withConsumers(ctx context.Context, opts Options, plan Plan, n int) (Report, error) {
	bed, err := Embedded(ctx, opts)
	if err != nil {
		return Report{}, err
	}
	defer bed.Close()
	const typ = "bench-posting"
	nc, err := bed.open(rights.Role{Name: rights.RoleResponder, Type: typ})
	if err != nil {
		return Report{}, err
	}
	on := connection.On(nc)
	for i := range n / 2 {
		k := ask.Key{Tenant: fmt.Sprint("tenant-", i)}
		if i == 0 {
			k.Tenant = bed.Tenant
		}
		body, err := wire.Marshal(wire.Next{Of: wire.NextQuestion, Max: 1})
		if err != nil {
			return Report{}, err
		}
		if _, err := connection.Do(ctx, on, &nats.Msg{Subject: subject.Responder(typ, subject.Self, k, subject.VerbNext), Data: body}, 0); err != nil {
			return Report{}, fmt.Errorf("bench: consumers of %s: %w", k.Tenant, err)
		}
	}
	rows, err := bed.Cycle(ctx, plan)
	if err != nil {
		return Report{}, err
	}
	return bed.NewReport(rows), nil
}
