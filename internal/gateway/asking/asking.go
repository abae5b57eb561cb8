// Package asking is what all rooms of the gateway share on the bus: one client,
// the asks that are remembered for callers that come again, and commands that
// are carried out whether or not their caller stays.
package asking

import (
	"context"
	"iter"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// callTimeout is for one command on the bus.
const callTimeout = 10 * time.Second

// Asks asks for the gateway's callers. It is safe for concurrent use.
type Asks struct {
	client *client.Client
	again  *again
}

// New makes Asks over the gateway's client.
func New(c *client.Client) *Asks { return &Asks{client: c, again: newAgain()} }

// Store asks. The caller may go meanwhile: the ask is stored all the same.
func (a *Asks) Store(ctx context.Context, one ask.Ask, trace string) (client.Asked, error) {
	ctx, cancel := Detached(client.WithTrace(ctx, trace))
	defer cancel()
	return a.client.Session(one.Tenant, one.Session).Ask(ctx, one)
}

// Outcome waits until the ask ends.
func (a *Asks) Outcome(ctx context.Context, k ask.Key) (ask.Outcome, error) {
	return a.client.Session(k.Tenant, k.Session).Wait(ctx, k.ID)
}

// Withdraw takes an ask back. The caller may go meanwhile.
func (a *Asks) Withdraw(ctx context.Context, k ask.Key, reason, trace string) (ask.Outcome, error) {
	ctx, cancel := Detached(client.WithTrace(ctx, trace))
	defer cancel()
	return a.client.Session(k.Tenant, k.Session).Withdraw(ctx, k.ID, reason)
}

// Pending walks the open asks of a session.
func (a *Asks) Pending(ctx context.Context, at ask.Session) iter.Seq2[ask.Record, error] {
	return a.client.Session(at.Tenant, at.Name).All(ctx, client.Query{State: ask.StatePending, PageSize: 200})
}

// Name gives an ask without an id that of the same ask that is still open, or a
// new one.
func (a *Asks) Name(one *ask.Ask) error { return a.again.name(one) }

// Told forgets an ask whose outcome its caller has.
func (a *Asks) Told(k ask.Key) { a.again.told(k) }

// Close ends every wait.
func (a *Asks) Close() { a.client.Close() }

// Detached is a context for a command that is carried out whether or not its
// caller stays.
func Detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
}
