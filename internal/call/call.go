// Package call makes one request to the broker: attempts with a limit each,
// again with the same bytes while nobody answers, and errors as [*ask.Error].
// Nothing is sent while the connection is away, and what was on its way when it
// was lost goes out again as soon as it is back.
//
// Repeating is safe because every command of askbus may be repeated. It decides
// nothing; what a refusal means is for its callers.
package call

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/backoff"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Attempt is the limit of the first try. Each further one waits twice as long,
// so that a broker that is behind is not buried under repeats.
const Attempt = 2 * time.Second

func attempt(try int) time.Duration { return Attempt << min(try, 3) }

// Limit is how long a call is tried when its context has no earlier end.
const Limit = 30 * time.Second

// Do sends msg and returns the reply. It tries again while the broker or its
// ledger is away. The error is an [*ask.Error] when the broker refused, and
// wraps [ask.ErrUnavailable] when it could not be reached, or
// [ask.ErrForbidden] when the credential does not allow the subject.
func Do(ctx context.Context, on *Conn, msg *nats.Msg, hold time.Duration) (*nats.Msg, error) {
	return on.do(ctx, msg, hold, on.nc.RequestMsgWithContext)
}

// Take is [Do] for requests whose reply hands something over. Each attempt has
// a subscription of its own for its reply, which ends with the attempt: a broker
// that replies later is told by the server that nobody listens, and keeps what
// it was about to hand over.
func Take(ctx context.Context, on *Conn, msg *nats.Msg, hold time.Duration) (*nats.Msg, error) {
	nc := on.nc
	return on.do(ctx, msg, hold, func(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
		inbox := nc.NewInbox()
		sub, err := nc.SubscribeSync(inbox)
		if err != nil {
			return nil, err
		}
		defer func() { _ = sub.Unsubscribe() }()
		if err := nc.PublishMsg(&nats.Msg{Subject: msg.Subject, Reply: inbox, Header: msg.Header, Data: msg.Data}); err != nil {
			return nil, err
		}
		reply, err := sub.NextMsgWithContext(ctx)
		if err == nil && len(reply.Data) == 0 && reply.Header.Get("Status") == noResponders {
			return nil, nats.ErrNoResponders
		}
		return reply, err
	})
}

// noResponders is the status of the server's reply when nobody is subscribed.
const noResponders = "503"

// HeaderAttempt says how long the sender of a request waits for its reply. What
// the broker comes to later it does not carry out: nobody listens, and the same
// request has been sent again. It is a duration, so clocks need not agree.
const HeaderAttempt = "Askbus-Attempt"

// bounded is msg with the limit of an attempt.
func bounded(msg *nats.Msg, limit time.Duration) *nats.Msg {
	h := maps.Clone(msg.Header)
	if h == nil {
		h = nats.Header{}
	}
	h[HeaderAttempt] = []string{limit.String()}
	return &nats.Msg{Subject: msg.Subject, Reply: msg.Reply, Header: h, Data: msg.Data}
}

// sending sends a request and waits for its reply.
type sending func(ctx context.Context, msg *nats.Msg) (*nats.Msg, error)

func (c *Conn) do(ctx context.Context, msg *nats.Msg, hold time.Duration, send sending) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+Limit)
	defer cancel()
	nc := c.nc
	var said error // the last refusal says more than that time ran out
	for try := 0; ; try++ {
		reply, err := c.once(ctx, msg, hold+attempt(try), send)
		if err == nil {
			if err = Refusal(reply); err == nil {
				return reply, nil
			}
			e, ok := errors.AsType[*ask.Error](err)
			if !ok || e.Code != ask.CodeUnavailable {
				return nil, err
			}
			said = err
		}
		last := nc.LastError()
		switch {
		case errors.Is(last, nats.ErrPermissionViolation) && errors.Is(err, context.DeadlineExceeded) && denied(last, msg.Subject):
			return nil, fmt.Errorf("%s: %w: %w", msg.Subject, ask.ErrForbidden, last)
		case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject), errors.Is(err, ErrAnonymous):
			return nil, fmt.Errorf("%s: %w", msg.Subject, err)
		}
		if backoff.Wait(ctx, 20*time.Millisecond, try) != nil {
			if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
				return nil, context.Canceled
			}
			if said != nil {
				return nil, said
			}
			return nil, fmt.Errorf("the broker does not answer on %s: %w: %w", msg.Subject, ask.ErrUnavailable, err)
		}
	}
}

// denied reports whether a violation is about a subject, whichever message caused it.
func denied(violation error, subj string) bool {
	before, after, named := strings.Cut(subj, "."+subject.Self+".")
	return strings.Contains(violation.Error(), before) && (!named || strings.Contains(violation.Error(), after))
}

// once sends msg once, as soon as there is a connection: what is buffered until
// then is stale when it arrives, and in front of what somebody waits for. A
// reply is lost with its connection, so it does not wait for that one.
func (c *Conn) once(ctx context.Context, msg *nats.Msg, limit time.Duration, send sending) (*nats.Msg, error) {
	nc := c.nc
	if err := connected(ctx, nc); err != nil {
		return nil, err
	}
	msg, err := c.sign(msg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	connection := nc.Stats().Reconnects
	late := time.AfterFunc(usual, func() { // most calls are over by then
		lost := nc.StatusChanged(nats.RECONNECTING)
		defer nc.RemoveStatusListener(lost)
		if !nc.IsReconnecting() && nc.Stats().Reconnects == connection {
			select {
			case <-lost:
			case <-ctx.Done():
			}
		}
		cancel()
	})
	defer late.Stop()
	return send(ctx, bounded(msg, limit))
}

// usual is how long a call mostly takes at most. Until then it does not look
// whether its connection was lost.
const usual = 100 * time.Millisecond

// connected waits while the connection is being made again.
func connected(ctx context.Context, nc *nats.Conn) error {
	if !nc.IsReconnecting() {
		return nil
	}
	back := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(back)
	if !nc.IsReconnecting() {
		return nil
	}
	select {
	case <-back:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refusal is the error that a reply carries, or nil.
func Refusal(reply *nats.Msg) error {
	code := reply.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return nil
	}
	if e := wire.DecodeProblem(reply.Data); e != nil {
		return e
	}
	return fmt.Errorf("the broker said %s: %s", code, reply.Header.Get(micro.ErrorHeader))
}

// Event sends an event in binary mode and returns the type and data of the
// reply's event.
func Event(ctx context.Context, on *Conn, subj string, ev cloudevent.Event, hold time.Duration) (typ string, data []byte, err error) {
	msg, err := ev.Msg(cloudevent.Binary)
	if err != nil {
		return "", nil, err
	}
	msg.Subject = subj
	return Msg(ctx, on, msg, hold)
}

// Msg sends msg and returns the type and data of the reply's event.
func Msg(ctx context.Context, on *Conn, msg *nats.Msg, hold time.Duration) (typ string, data []byte, err error) {
	if hold > 0 {
		if msg.Header == nil {
			msg.Header = nats.Header{}
		}
		msg.Header.Set("Askbus-Wait", hold.String())
	}
	reply, err := Do(ctx, on, msg, hold)
	if err != nil {
		return "", nil, err
	}
	in, _, err := cloudevent.Read(reply)
	if err != nil {
		return "", nil, fmt.Errorf("the broker's reply on %s: %w", msg.Subject, err)
	}
	return in.Type, in.Data, nil
}
