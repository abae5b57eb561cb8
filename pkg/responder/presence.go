package responder

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
)

// Present declares that a person is looking at the asks of a tenant and
// session (empty: all that this responder may see) until leave is called. An
// idle surface with nobody at it must not declare it.
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
		if err := m.Respond([]byte(r.typ)); err != nil && !errors.Is(err, nats.ErrMsgNoReply) {
			r.opts.Logger.Warn("could not say that somebody is here", slog.Any("error", err))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("present: %w", err)
	}
	if err := r.nc.Flush(); err != nil {
		r.opts.Logger.Warn("could not say yet that somebody is here", slog.Any("error", err))
	}
	var once sync.Once
	return func() { once.Do(func() { _ = sub.Unsubscribe() }) }, nil
}
