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
	"math/rand/v2"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
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
func Do(ctx context.Context, nc *nats.Conn, msg *nats.Msg, hold time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+Limit)
	defer cancel()
	var said error // the last refusal says more than that time ran out
	for try := 0; ; try++ {
		reply, err := once(ctx, nc, msg, hold+attempt(try))
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
		case errors.Is(last, nats.ErrPermissionViolation) && errors.Is(err, context.DeadlineExceeded) && strings.Contains(last.Error(), msg.Subject):
			return nil, fmt.Errorf("%s: %w: %w", msg.Subject, ask.ErrForbidden, last)
		case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject):
			return nil, fmt.Errorf("%s: %w", msg.Subject, err)
		}
		if pause(ctx, try) != nil {
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

// once sends msg once, as soon as there is a connection: what is buffered until
// then is stale when it arrives, and in front of what somebody waits for. A
// reply is lost with its connection, so it does not wait for that one.
func once(ctx context.Context, nc *nats.Conn, msg *nats.Msg, limit time.Duration) (*nats.Msg, error) {
	if err := connected(ctx, nc); err != nil {
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
	return nc.RequestMsgWithContext(ctx, msg)
}

// usual is how long a call mostly takes at most. Until then it does not look
// whether its connection was lost.
const usual = 100 * time.Millisecond

// connected waits while the connection is being made anew.
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
	if e := cloudevent.DecodeProblem(reply.Data); e != nil {
		return e
	}
	return fmt.Errorf("the broker said %s: %s", code, reply.Header.Get(micro.ErrorHeader))
}

// Event sends an event in structured mode and returns the data of the reply's
// event, with its type.
func Event(ctx context.Context, nc *nats.Conn, subject string, ev cloudevent.Event, hold time.Duration) (typ string, data []byte, err error) {
	msg, err := ev.Msg(cloudevent.Binary)
	if err != nil {
		return "", nil, err
	}
	msg.Subject = subject
	return Msg(ctx, nc, msg, hold)
}

// Msg sends msg and returns the type and data of the reply's event.
func Msg(ctx context.Context, nc *nats.Conn, msg *nats.Msg, hold time.Duration) (typ string, data []byte, err error) {
	if hold > 0 {
		if msg.Header == nil {
			msg.Header = nats.Header{}
		}
		msg.Header.Set("Askbus-Wait", hold.String())
	}
	reply, err := Do(ctx, nc, msg, hold)
	if err != nil {
		return "", nil, err
	}
	if typ, data, err = cloudevent.ReadReply(reply); err != nil {
		return "", nil, fmt.Errorf("the broker's reply on %s: %w", msg.Subject, err)
	}
	return typ, data, nil
}

func pause(ctx context.Context, try int) error {
	d := time.Duration(20<<min(try, 5)) * time.Millisecond
	t := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // jitter
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
