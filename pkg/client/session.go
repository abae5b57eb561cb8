package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Session gives access to the asks of one session; [Client.Session] makes it.
// It is a small value, safe for concurrent use, and is not closed.
//
// Every method but Wait retries for at most 30 seconds while the broker, its
// ledger or the connection is unavailable, or until its context ends. Any of
// them may return these errors:
//   - [ask.ErrInvalid]: the tenant, the session or the id has characters other
//     than A-Z a-z 0-9 _ -, or too many;
//   - [ask.ErrForbidden]: the credential is not for this session;
//   - [ask.ErrUnavailable]: the broker did not answer in time; the request may
//     have been carried out, and repeating it is harmless;
//   - [context.Canceled]: the context was cancelled. A context that reached its
//     deadline gives ErrUnavailable, because the broker did not answer in time.
type Session struct {
	c  *Client
	at ask.Session
}

// HasAsker reports whether the client's credential says for whom it asks. The
// broker then sets [ask.Ask.Asker], and refuses an ask that names another.
func (s Session) HasAsker() bool { return s.c.on.HasAsker() }

// Asked is the broker's reply to an ask. [Asked.Wait] waits until it ends.
type Asked struct {
	ID       string
	State    ask.State // resolved if the same ask had ended before
	Created  bool      // this call stored it; false if it was already there
	Deadline time.Time // when the ask ends by itself
	Present  []string  // responder types at which a person is present, as far as known
	Warnings []string  // parts of the ask that were accepted but changed
	// Progress says how far a pending ask has come that needs votes or has a ladder,
	// in a sentence; empty for any other. A policy of the operator may demand votes.
	Progress string
	Outcome  *ask.Outcome

	session   Session
	trace     string     // traceparent that the ask carried, if any
	listening *listening // from before it was asked; nil: Wait begins to listen
}

// String returns the session in its text form: tenant/session.
func (s Session) String() string { return s.at.String() }

// Ask publishes an ask. When it returns without an error, the ask is stored and
// survives this process. The Tenant and Session of a are ignored. An empty ID
// is filled in; the same ID with the same questions is the same ask, and
// [Asked.Outcome] is set if it has ended.
//
// In addition to the errors of any method (see [Session]):
//   - [ask.ErrInvalid]: the [*ask.Error] lists every fault of the ask;
//   - [ask.ErrIDReused]: another ask has the ID;
//   - [ask.ErrNobody]: the ask has RequireResponder, and no person is present;
//   - [ask.ErrTooLarge]: the ask has more than [ask.MaxEventBytes].
//
// [ask.ErrUnavailable] may also mean that the ledger is full.
func (s Session) Ask(ctx context.Context, a ask.Ask) (Asked, error) {
	k, err := s.named(&a)
	if err != nil {
		return Asked{}, err
	}
	return s.ask(ctx, k, &a)
}

// AskToWait is Ask for a caller that is going to wait: it subscribes to the
// outcome before it asks, so that [Asked.Wait] needs no request of its own. It
// holds the subscription for a few seconds, so Wait should follow at once, and
// need not follow at all. An ask is also stored if the client cannot listen;
// then Wait says why.
func (s Session) AskToWait(ctx context.Context, a ask.Ask) (Asked, error) {
	k, err := s.named(&a)
	if err != nil {
		return Asked{}, err
	}
	w, _ := s.c.enter(k) // an error is that of Wait, too
	return s.askListening(ctx, k, &a, w)
}

// Asked returns a handle on an ask that was asked earlier, of which only the ID
// is set. It sends nothing.
func (s Session) Asked(id string) Asked { return Asked{ID: id, session: s} }

// AskAndWait asks and waits until the ask ends. It is AskToWait and
// [Asked.Wait], but asks nothing if it cannot wait.
//
// The errors are those of Ask and Wait. The outcome returned with an error
// still names the ask (its Tenant, Session and AskID): when ctx ends, the ask
// stays pending, and Wait or the same AskAndWait with that ID picks it up
// again.
func (s Session) AskAndWait(ctx context.Context, a ask.Ask) (ask.Outcome, error) {
	k, err := s.named(&a)
	if err != nil {
		return ask.Outcome{}, err
	}
	o, err := s.askAndWait(ctx, k, &a)
	if err != nil {
		return ask.Outcome{Tenant: k.Tenant, Session: k.Session, AskID: k.ID}, err
	}
	return o, nil
}

func (s Session) askAndWait(ctx context.Context, k ask.Key, a *ask.Ask) (ask.Outcome, error) {
	w, err := s.c.enter(k)
	if err != nil {
		return ask.Outcome{}, err
	}
	asked, err := s.askListening(ctx, k, a, w)
	if err != nil {
		return ask.Outcome{}, err
	}
	return asked.Wait(ctx)
}

// askListening asks, and keeps w for [Asked.Wait] if the ask is pending. w may
// be nil.
func (s Session) askListening(ctx context.Context, k ask.Key, a *ask.Ask, w *wait) (Asked, error) {
	asked, err := s.ask(ctx, k, a)
	switch {
	case w == nil:
	case err != nil || asked.Outcome != nil:
		s.c.leave(k, w)
	default:
		asked.listening = s.c.listen(k, w)
	}
	return asked, err
}

func (s Session) ask(ctx context.Context, k ask.Key, a *ask.Ask) (Asked, error) {
	data, err := wire.EncodeAsk(a)
	if err != nil {
		return Asked{}, fmt.Errorf("ask %s: %w", k.ID, err)
	}
	if len(data) > ask.MaxEventBytes {
		return Asked{}, ask.Refusal(ask.CodeTooLarge, ask.FaultTooManyBytes, "the_ask", len(data), ask.MaxEventBytes)
	}
	reply, trace, err := s.send(ctx, "ask", k, subject.Agent(k, subject.VerbAsk), cloudevent.TypeAsked, data)
	if err != nil {
		return Asked{}, err
	}
	got, err := wire.StatusOf(k, reply)
	if err != nil {
		return Asked{}, fmt.Errorf("ask %s: %w", k.ID, err)
	}
	s.c.heardOf(got.Holder)
	return Asked{
		ID: k.ID, State: got.State, Created: got.Created != nil && *got.Created, Deadline: got.Deadline,
		Present: got.Present, Warnings: got.Warnings, Progress: got.Progress, Outcome: got.Outcome, session: s, trace: trace,
	}, nil
}

// Get returns an ask: its question, its receipts, and its outcome if it has
// ended. In addition to the errors of any method (see [Session]) it returns
// [ask.ErrNotFound] if the session has no such ask, or has forgotten it.
func (s Session) Get(ctx context.Context, id string) (ask.Record, error) {
	k, err := s.key(id)
	if err != nil {
		return ask.Record{}, err
	}
	if err := s.c.turn(ctx); err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", id, err)
	}
	_, data, err := connection.Msg(ctx, s.c.on, &nats.Msg{Subject: subject.Agent(k, subject.VerbGet)}, 0)
	s.c.done(err)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", id, err)
	}
	status, err := wire.StatusOf(k, data)
	if err != nil {
		return ask.Record{}, fmt.Errorf("get ask %s: %w", id, err)
	}
	return status.Record(), nil
}

// Repeat returns the id under which to ask something that has no id of its own:
// id, which begins with the repeat key of its content ([Repeat.Key]), or that of
// the last ask with this key, if it is still open or a person answered it at
// most two minutes ago and nobody said [Session.Delivered]. Only an outcome that
// is already there when the ask is asked with that id may be another asker's.
func (s Session) Repeat(ctx context.Context, r Repeat) (id string, err error) {
	k, err := s.key(r.Key)
	if err != nil {
		return "", err
	}
	body, err := wire.Marshal(wire.Repeat{AskID: r.ID, Timeout: wire.Duration(r.Timeout), Replace: r.Replace})
	if err != nil {
		return "", fmt.Errorf("repeat %s: %w", r.Key, err)
	}
	reply, err := s.plain(ctx, "repeat", k, subject.VerbRepeat, body)
	if err != nil {
		return "", err
	}
	got, err := wire.DecodeRepeat(reply, r.Key)
	if err != nil {
		return "", fmt.Errorf("repeat %s: %w", r.Key, err)
	}
	return got.AskID, nil
}

// Repeat is what [Session.Repeat] needs to know of an ask.
type Repeat struct {
	Key     string        // "q-" and 20 hex digits: the same for asks that are the same
	ID      string        // Key, "-" and what makes it unique: the id if this is a new ask
	Timeout time.Duration // of the ask; 0: the longest
	Replace bool          // ID names this ask, whatever was asked before
}

// Delivered records that the asker has the outcome of an ask whose id is from
// [Session.Repeat]: the next ask with the same repeat key is a new one. Repeating
// it is harmless.
func (s Session) Delivered(ctx context.Context, id string) error {
	k, err := s.key(id)
	if err != nil {
		return err
	}
	_, err = s.plain(ctx, "delivered", k, subject.VerbDelivered, nil)
	return err
}

// plain sends a request without an event and returns the body of the reply.
func (s Session) plain(ctx context.Context, what string, k ask.Key, verb subject.Verb, body []byte) ([]byte, error) {
	if err := s.c.turn(ctx); err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, k.ID, err)
	}
	reply, err := connection.Do(ctx, s.c.on, &nats.Msg{Subject: subject.Agent(k, verb), Data: body}, 0)
	s.c.done(err)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, k.ID, err)
	}
	return reply.Data, nil
}

// Withdraw takes an ask back and returns the outcome. People are shown the
// reason, which may be empty. Repeating it returns the same outcome.
//
// In addition to the errors of any method (see [Session]):
//   - [ask.ErrNotFound]: the session has no such ask;
//   - [ask.ErrResolved]: it ended in another way; the [*ask.Error] holds how.
func (s Session) Withdraw(ctx context.Context, id, reason string) (ask.Outcome, error) {
	k, err := s.key(id)
	if err != nil {
		return ask.Outcome{}, err
	}
	return s.end(ctx, "withdraw", k, subject.Agent(k, subject.VerbWithdraw), cloudevent.TypeWithdrawn, reason)
}

// Leave withdraws an ask whose host has closed its own dialog, unless the answer given in that dialog
// follows within that time, which is more than 0 and at most a minute. From now on nobody else can answer.
// It does not wait for the end. Its errors are those of Withdraw.
func (s Session) Leave(ctx context.Context, id, reason string, within time.Duration) error {
	k, err := s.key(id)
	if err != nil {
		return err
	}
	data, err := wire.EncodeEnd(k.ID, wire.End{Reason: reason, DialogWithin: within})
	if err != nil {
		return fmt.Errorf("leave ask %s: %w", k.ID, err)
	}
	_, _, err = s.send(ctx, "leave ask", k, subject.Agent(k, subject.VerbWithdraw), cloudevent.TypeWithdrawn, data)
	return err
}

// Abort ends an ask on behalf of an operator and returns the outcome. People
// are shown the reason. It needs an operator's credential and otherwise fails
// with [ask.ErrForbidden]. Its other errors are those of Withdraw.
func (s Session) Abort(ctx context.Context, id, reason string) (ask.Outcome, error) {
	k, err := s.key(id)
	if err != nil {
		return ask.Outcome{}, err
	}
	return s.end(ctx, "abort", k, subject.Abort(k), cloudevent.TypeAborted, reason)
}

// end sends the event that ends an ask and returns the outcome.
func (s Session) end(ctx context.Context, verb string, k ask.Key, to, typ, reason string) (ask.Outcome, error) {
	data, err := wire.EncodeEnd(k.ID, wire.End{Reason: reason})
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("%s ask %s: %w", verb, k.ID, err)
	}
	reply, _, err := s.send(ctx, verb+" ask", k, to, typ, data)
	if err != nil {
		return ask.Outcome{}, err
	}
	o, err := wire.OutcomeOf(k, reply)
	if err != nil {
		return ask.Outcome{}, fmt.Errorf("%s ask %s: %w", verb, k.ID, err)
	}
	return o, nil
}

// send sends an event about an ask once it has a slot, and returns the data of
// the reply and the traceparent that the event carried.
func (s Session) send(ctx context.Context, what string, k ask.Key, to, typ string, data []byte) (reply []byte, trace string, err error) {
	ctx, end := s.c.tracer.Start(ctx, what, tracing.Sends, traceOf(ctx), tracing.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID})
	defer func() { end(err) }()
	if err := s.c.turn(ctx); err != nil {
		return nil, "", fmt.Errorf("%s %s: %w", what, k.ID, err)
	}
	trace = cmp.Or(s.c.tracer.Carry(ctx), traceOf(ctx))
	source := cloudevent.AgentSource(k.Tenant, k.Session)
	if typ == cloudevent.TypeAborted {
		source = operatorSource
	}
	_, reply, err = connection.Event(ctx, s.c.on, to, cloudevent.Event{
		ID: cloudevent.NewID(), Source: source, Type: typ, Key: k, Time: s.c.pace.now(), Trace: trace, Data: data,
	}, 0)
	s.c.done(err)
	if err != nil {
		return nil, "", fmt.Errorf("%s %s: %w", what, k.ID, err)
	}
	return reply, trace, nil
}

// operatorSource is the CloudEvents source of an operator's events.
const operatorSource = "/askbus/operator"

// key returns the key of an ask in the session, or an error for invalid names.
func (s Session) key(id string) (ask.Key, error) {
	if err := s.valid(); err != nil {
		return ask.Key{}, err
	}
	if !ask.ValidToken(id) {
		return ask.Key{}, ask.InvalidError("ask", []ask.Fault{ask.NewFault("/id", ask.FaultBadToken, ask.Clip(id, 80), ask.MaxToken)})
	}
	return s.at.Key(id), nil
}

// named returns the key of an ask, which gets an id if it has none. An invalid id cannot be sent, so the broker
// could not name the other faults beside it.
func (s Session) named(a *ask.Ask) (ask.Key, error) {
	a.ID = cmp.Or(a.ID, cloudevent.NewID())
	k, err := s.key(a.ID)
	if err != nil && s.valid() == nil {
		if data, failed := wire.EncodeAsk(a); failed == nil {
			err = wire.EveryFault(err, data)
		}
	}
	return k, err
}

func (s Session) valid() error {
	if s.c == nil {
		return ask.Refuse(ask.CodeInvalid, "no client; use Client.Session")
	}
	var faults []ask.Fault
	for _, part := range []struct{ name, value string }{{"tenant", s.at.Tenant}, {"session", s.at.Name}} {
		if !ask.ValidToken(part.value) {
			faults = append(faults, ask.NewFault("/"+part.name, ask.FaultBadToken, ask.Clip(part.value, 80), ask.MaxToken))
		}
	}
	return ask.InvalidError("session", faults)
}
