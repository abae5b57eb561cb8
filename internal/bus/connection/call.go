// Package connection makes one request to the broker: it limits each attempt, repeats
// the same bytes while there is no reply, and returns errors as [*ask.Error].
// Nothing is sent while disconnected, and a request whose connection was lost
// is sent again as soon as it is back.
//
// Repeating is safe because every command of askbus is idempotent. The package
// decides nothing; its callers interpret refusals.
package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Attempt limits the first attempt. Each further one waits twice as long, so
// that a slow broker is not flooded with repeats.
const Attempt = 2 * time.Second

func attempt(try int) time.Duration { return Attempt << min(try, 3) }

// Limit is how long a call is retried if its context does not end earlier.
const Limit = 30 * time.Second

// Do sends msg, which belongs to it from then on, and returns the reply. It
// retries while the broker or its ledger is unavailable. The error is an
// [*ask.Error] if the broker refused, and wraps [ask.ErrUnavailable] if it could
// not be reached, or [ask.ErrForbidden] if the credential does not allow the
// subject.
func Do(ctx context.Context, on *Conn, msg *nats.Msg, hold time.Duration) (*nats.Msg, error) {
	return on.do(ctx, msg, hold, on.nc.RequestMsgWithContext)
}

// JSON is [Do] with a body in JSON, and a reply unless it is nil. Its errors begin with what.
func JSON(ctx context.Context, on *Conn, what, subject string, body, reply any) error {
	data, err := wire.Marshal(body)
	var got *nats.Msg
	if err == nil {
		got, err = Do(ctx, on, &nats.Msg{Subject: subject, Data: data}, 0)
	}
	if err == nil && reply != nil {
		err = json.Unmarshal(got.Data, reply)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Take is [Do] for requests whose reply hands something over. Each attempt has
// its own subscription for its reply, which ends with the attempt: the server
// tells a broker that replies later that there is no subscriber, and the broker
// keeps what it was about to hand over.
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

// noResponders is the status of the server's reply if there is no subscriber.
const noResponders = "503"

// HeaderAttempt says how long the sender of a request waits for its reply.
// After that the broker does not carry the request out: the reply would be
// lost, and the same request was sent again. It is a duration, so clocks need
// not agree.
const HeaderAttempt = "Askbus-Attempt"

// sending sends a request and waits for its reply.
type sending func(ctx context.Context, msg *nats.Msg) (*nats.Msg, error)

func (c *Conn) do(ctx context.Context, msg *nats.Msg, hold time.Duration, send sending) (*nats.Msg, error) {
	nc, subj := c.nc, msg.Subject
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	end := time.Now().Add(hold + Limit)
	var said error // the last refusal is more useful than a timeout
	for try := 0; ; try++ {
		err := connected(ctx, nc, end)
		var reply *nats.Msg
		if err == nil {
			reply, err = c.sendOnce(ctx, msg, subj, min(hold+attempt(try), time.Until(end)), send)
		}
		if err == nil {
			if err := checkProtocol(reply); err != nil {
				return nil, err
			}
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
		case errors.Is(last, nats.ErrPermissionViolation) && errors.Is(err, context.DeadlineExceeded) && denied(last, c.Subject(subj)):
			return nil, fmt.Errorf("%s: %w: %w", subj, ask.ErrForbidden, last)
		case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject), errors.Is(err, errAnonymous):
			return nil, fmt.Errorf("%s: %w", subj, err)
		}
		if !time.Now().Before(end) || backoff.Wait(ctx, 20*time.Millisecond, try) != nil {
			if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
				return nil, context.Canceled
			}
			if said != nil {
				return nil, said
			}
			return nil, fmt.Errorf("the broker does not answer on %s: %w: %w", subj, ask.ErrUnavailable, err)
		}
	}
}

// denied reports whether a permissions violation is about a subject.
func denied(violation error, subj string) bool {
	before, after, named := strings.Cut(subj, "."+subject.Self+".")
	return strings.Contains(violation.Error(), before) && (!named || strings.Contains(violation.Error(), after))
}

// sendOnce sends msg once. A reply is lost with its connection, so it does not
// wait for it then.
func (c *Conn) sendOnce(ctx context.Context, msg *nats.Msg, subj string, limit time.Duration, send sending) (*nats.Msg, error) {
	nc := c.nc
	if err := c.sign(msg, subj); err != nil {
		return nil, err
	}
	msg.Header[HeaderAttempt] = []string{limit.String()}
	msg.Header[wire.HeaderProtocol] = []string{wire.ProtocolText()}
	if id := tokenOf(ctx, msg.Subject); id != "" {
		msg.Header[HeaderToken] = []string{id}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	connection := nc.Stats().Reconnects
	late := time.AfterFunc(usual, func() { // most calls have ended by then
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
	return send(ctx, msg)
}

// usual is the usual maximum duration of a call. Only after it a call checks
// whether its connection was lost.
const usual = 100 * time.Millisecond

// connected waits until end while the connection is reconnecting: buffered
// messages would be stale when they are sent, and delay others.
func connected(ctx context.Context, nc *nats.Conn, end time.Time) error {
	if !nc.IsReconnecting() {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
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

// Refuse returns the reply of a service that refuses a request: the headers of a NATS service error and a problem body.
func Refuse(e *ask.Error) *nats.Msg {
	return &nats.Msg{Data: wire.EncodeProblem(e), Header: nats.Header{
		micro.ErrorCodeHeader: []string{strconv.Itoa(wire.HTTPStatus(e.Code))},
		micro.ErrorHeader:     []string{strings.Join(strings.Fields(e.Detail), " ")},
		"Content-Type":        []string{wire.TypeProblem},
	}}
}

// Refusal returns the error of a reply, or nil.
func Refusal(reply *nats.Msg) error {
	code := reply.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return nil
	}
	if e := wire.DecodeProblem(reply.Data); e != nil {
		return e
	}
	return fmt.Errorf("the broker refused with %s: %s", code, reply.Header.Get(micro.ErrorHeader))
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
