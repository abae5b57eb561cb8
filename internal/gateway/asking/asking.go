// Package asking has the gateway's access to the bus: one client, the asks that are remembered for
// callers that repeat them, and commands that complete even if their caller disconnects.
package asking

import (
	"context"
	"iter"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// callTimeout bounds one command on the bus.
const callTimeout = 10 * time.Second

// Asks sends asks for the gateway's callers. It is safe for concurrent use.
type Asks struct {
	client *client.Client
	again  *again
}

// New makes Asks on the gateway's client.
func New(c *client.Client) *Asks { return &Asks{client: c, again: newAgain()} }

// Store stores an ask, even if the caller disconnects.
func (a *Asks) Store(ctx context.Context, one ask.Ask, trace string) (client.Asked, error) {
	ctx, cancel := Detached(client.WithTrace(ctx, trace))
	defer cancel()
	return a.client.Session(one.Tenant, one.Session).Ask(ctx, one)
}

// Outcome waits until the ask ends.
func (a *Asks) Outcome(ctx context.Context, k ask.Key) (ask.Outcome, error) {
	return a.client.Session(k.Tenant, k.Session).Wait(ctx, k.ID)
}

// Withdraw withdraws an ask, even if the caller disconnects.
func (a *Asks) Withdraw(ctx context.Context, k ask.Key, reason, trace string) (ask.Outcome, error) {
	ctx, cancel := Detached(client.WithTrace(ctx, trace))
	defer cancel()
	return a.client.Session(k.Tenant, k.Session).Withdraw(ctx, k.ID, reason)
}

// Pending iterates over the open asks of a session.
func (a *Asks) Pending(ctx context.Context, at ask.Session) iter.Seq2[ask.Record, error] {
	return a.client.Session(at.Tenant, at.Name).All(ctx, client.Query{State: ask.StatePending, PageSize: 200})
}

// Name sets the id of an ask that has none: that of an identical open ask, or a new one.
func (a *Asks) Name(one *ask.Ask) error { return a.again.name(one) }

// Told forgets an ask whose outcome was delivered.
func (a *Asks) Told(k ask.Key) { a.again.told(k) }

// Close ends every wait.
func (a *Asks) Close() { a.client.Close() }

// Detached returns a context for a command that completes even if its caller disconnects.
func Detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
}
