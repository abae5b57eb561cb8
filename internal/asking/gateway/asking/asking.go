// Package asking has the gateway's access to the bus: one client, asks that callers repeat, and commands
// that complete even if their caller disconnects.
package asking

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/askbus/askbus/pkg/responder"
)

// callTimeout bounds one command on the bus. An agent's own connection repeats a
// request for as long, so an election of servers is no error over HTTP either.
const callTimeout = 30 * time.Second

// Asks sends asks for the gateway's callers. It is safe for concurrent use.
type Asks struct {
	client *client.Client
	log    *slog.Logger
}

// New makes Asks on the gateway's client.
func New(c *client.Client, log *slog.Logger) *Asks { return &Asks{client: c, log: log} }

// Store stores an ask, or finds the same one, and sets its id, even if the caller disconnects.
func (a *Asks) Store(ctx context.Context, one *ask.Ask, from sameask.Origin, trace string) (client.Asked, error) {
	ctx, cancel := Detached(client.WithTrace(ctx, trace))
	defer cancel()
	return sameask.Ask(ctx, a.client.Session(one.Tenant, one.Session), one, from)
}

// Delivered records that the asker is about to get the outcome of an ask, unless it has gone. Without
// the record the outcome may be repeated to the asker for two minutes.
func (a *Asks) Delivered(ctx context.Context, k ask.Key) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliveredTimeout)
	defer cancel()
	if err := sameask.Delivered(ctx, a.client.Session(k.Tenant, k.Session), k.ID); err != nil {
		a.log.WarnContext(ctx, "cannot record that an outcome is delivered", slog.String("ask_id", k.ID), slog.Any("error", err))
	}
}

// deliveredTimeout bounds how long an outcome waits for that record.
const deliveredTimeout = 3 * time.Second

// Asked returns an ask that was stored earlier.
func (a *Asks) Asked(k ask.Key) client.Asked {
	return a.client.Session(k.Tenant, k.Session).Asked(k.ID)
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

// Close ends every wait.
func (a *Asks) Close() { a.client.Close() }

// ReadReply reads what a foreign screen sent, and what is wrong with it as an answer to the ask; with part
// it may answer some of the questions only. How an ask ended counts more than what is wrong with a late
// answer, and an ask of a newer peer may have rules that only the broker knows.
func ReadReply(d dialect.Dialect, rec *ask.Record, body []byte, part bool) (dialect.Given, error) {
	if rec.State == ask.StateResolved || rec.Raw != nil || rec.Ask.Raw != nil {
		return d.Reply(&rec.Ask, body)
	}
	return d.CheckedReply(&rec.Ask, body, part)
}

// Decide carries out a person's answer or decline.
func Decide(ctx context.Context, resp *responder.Responder, k ask.Key, given dialect.Given) (ask.Outcome, error) {
	if given.Decision == dialect.Declined {
		return resp.Cancel(ctx, k, responder.Decline{AnswerID: given.Reply.AnswerID, Reason: given.Reason, By: given.Reply.By})
	}
	return resp.Answer(ctx, k, given.Reply)
}

// Detached returns a context for a command that completes even if its caller disconnects.
func Detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
}
