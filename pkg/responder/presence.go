package responder

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// Present declares that a person is looking at the asks of a tenant and session
// (empty: all that this responder may see) until leave is called. A surface
// without a person must not declare it.
func (r *Responder) Present(tenant, session string) (leave func(), err error) {
	if tenant == "" {
		tenant, session = r.opts.Tenant, r.opts.Session
	}
	where := subject.Presence + ".>"
	switch {
	case tenant != "" && session != "":
		where = subject.Here(tenant, session)
	case tenant != "":
		where = subject.Presence + "." + tenant + ".>"
	}
	sub, err := r.nc.Subscribe(where, func(m *nats.Msg) {
		if err := r.here(m); err != nil {
			r.opts.Logger.Warn("cannot declare presence", slog.Any("error", err))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("present: %w", err)
	}
	if err := r.nc.Flush(); err != nil {
		r.opts.Logger.Warn("cannot declare presence yet", slog.Any("error", err))
	}
	var once sync.Once
	return func() { once.Do(func() { _ = sub.Unsubscribe() }) }, nil
}

// here replies to the broker under the credential's own type and key, which
// NATS checks; the reply subject only identifies the request.
func (r *Responder) here(m *nats.Msg) error {
	tenant, session, ok := subject.ParseHere(m.Subject)
	if !ok || m.Reply == "" {
		return nil
	}
	user, _, err := r.on.Sender()
	if err != nil {
		return err
	}
	id := m.Reply[strings.LastIndexByte(m.Reply, '.')+1:]
	return r.nc.Publish(subject.Present(r.typ, user, tenant, session, id), nil)
}
