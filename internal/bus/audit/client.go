package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// Read requests one page of a tenant's records (empty: all tenants). The connection's credential is
// an auditor's or an operator's.
func Read(ctx context.Context, nc *nats.Conn, tenant string, q Query) (p Page, err error) {
	on := connection.On(nc)
	err = connection.JSON(ctx, on, "read the audit", subject.AuditRead(on.Role(), tenant), q, &p)
	return p, err
}

// ReadRaw reads at most most messages of the audit from a sequence on, as they are stored. The
// connection's credential is an auditor's of every tenant, or an operator's.
func ReadRaw(ctx context.Context, nc *nats.Conn, from uint64, most int) ([]Raw, error) {
	body, err := json.Marshal(Query{Cursor: from, Limit: most, Raw: true})
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	on := connection.On(nc)
	reply, err := connection.Do(ctx, on, &nats.Msg{Subject: subject.AuditRead(on.Role(), ""), Data: body}, 0)
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	if reply.Header.Get("Content-Type") != TypeRaw {
		return nil, errRaw
	}
	return parseRaw(reply.Data)
}

// All iterates over every record from the query's cursor on. Next receives the cursor after the
// last one.
func All(ctx context.Context, nc *nats.Conn, tenant string, q Query, next *uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			p, err := Read(ctx, nc, tenant, q)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for i := range p.Items {
				if *next = p.Items[i].Seq + 1; !yield(p.Items[i], nil) {
					return
				}
			}
			if q.Cursor, *next = p.Next, p.Next; p.End {
				return
			}
		}
	}
}

// Sender is the sender of a report, as encoded in the subject.
type Sender struct {
	Role   subject.StateRole
	Type   string // of a responder
	Tenant string // of a responder that is narrowed to one
}

// Send adds a report to the audit.
func Send(ctx context.Context, nc *nats.Conn, from Sender, r Report) error {
	at := subject.AuditRequest{User: subject.Self, Tenant: from.Tenant, Role: from.Role, Type: from.Type, Verb: subject.VerbReport}
	return connection.JSON(ctx, connection.On(nc), "report to the audit", at.String(), &r, nil)
}
