package responder

import (
	"cmp"
	"context"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Away says that a person is away, and who stands in.
type Away struct {
	By     ask.By    // who is away, as the credential of this surface may assert
	To     string    // who stands in: a principal, or a name of the operator's list of people
	Tenant string    // for whose asks; empty: of every tenant that the credential reaches
	Until  time.Time // at most 90 days ahead; zero: no longer
}

// Away sets who stands in for a person, or ends that. A person says it for
// themselves only: the error is [ask.ErrForbidden] if nothing proves well enough who
// they are.
func (r *Responder) Away(ctx context.Context, a Away) (ask.StandIn, error) {
	a.Tenant = cmp.Or(r.opts.Tenant, a.Tenant)
	var s wire.StoredStandIn
	at := subject.Responder(r.typ, subject.Self, ask.Key{Tenant: a.Tenant}, subject.VerbAway)
	if err := connection.JSON(ctx, r.on, "away", at, wire.Away{By: a.By, To: a.To, Until: a.Until, ID: cloudevent.NewID()}, &s); err != nil {
		return ask.StandIn{}, err
	}
	return s.StandIn(a.Tenant), nil
}

// StandIns returns who stands in for whom now, the earliest first, as far as the
// credential may see it: of its tenant, or all.
func (r *Responder) StandIns(ctx context.Context) ([]ask.StandIn, error) {
	return state.ListStandIns(ctx, state.Open(r.nc, state.Responder(r.typ, r.opts.Tenant), state.StandIns))
}
