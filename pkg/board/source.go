package board

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// source is a responder with the requests of live screens.
type source struct {
	*responder.Responder

	nc   *nats.Conn
	on   *connection.Conn
	typ  string
	opts responder.Options

	snapshotEvery time.Duration // only tests change it
}

func newSource(r *responder.Responder) *source {
	return &source{Responder: r, nc: r.Conn(), on: connection.On(r.Conn()), typ: r.Type(), opts: r.Options(), snapshotEvery: snapshotEvery}
}

// note sends what a person does with an ask without ending it. The broker
// compares the person with what the credential asserts.
func (r *source) note(ctx context.Context, k ask.Key, verb subject.Verb, body any) error {
	return connection.JSON(ctx, r.on, string(verb)+" "+k.String(), subject.Responder(r.typ, subject.Self, k, verb), body, nil)
}

// publish sends attention under the credential's own key.
func (r *source) publish(k ask.Key, data []byte) error {
	user, _, err := r.on.Sender()
	if err != nil {
		return err
	}
	return r.nc.Publish(subject.Attention(r.typ, user, k), data)
}

// heads reads all pages of heads, or what changed since a mark.
func (r *source) heads(ctx context.Context, of ask.Key, since string, most int) (mark wire.Mark, recs []ask.Record, err error) {
	q := wire.Query{Tenant: of.Tenant, Session: of.Session, Heads: true, Since: since, Limit: wire.MaxPage}
	if since == "" {
		q.State = string(ask.StatePending)
	}
	at := subject.Responder(r.typ, subject.Self, of, subject.VerbList)
	for {
		data, err := connection.Page(ctx, r.on, at, q)
		if err != nil {
			return mark, nil, err
		}
		items, next, err := wire.DecodePage(data)
		if err != nil {
			return mark, nil, err
		}
		if q.Cursor == "" {
			if mark, err = wire.DecodeMark(data); err != nil {
				return mark, nil, err
			}
			if mark.Full {
				q.Since, q.State = "", string(ask.StatePending)
			}
		}
		recs = append(recs, items...)
		if q.Cursor = next; next == "" || mark.Full && len(recs) >= most {
			return mark, recs, nil
		}
	}
}
