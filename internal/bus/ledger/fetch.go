package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// straggler is how long messages are awaited that arrive after their request
// was abandoned.
const straggler = 30 * time.Second

// fetch takes up to most messages that a durable consumer has now, without
// waiting for more. If the server is slow it returns what has arrived, or an
// error if that is nothing, and returns later messages to the consumer: the
// client library would drop them, and they would be redelivered only after
// their lease.
func (l *Ledger) fetch(ctx context.Context, stream, consumer string, most int) ([]*nats.Msg, error) {
	inbox := l.nc.NewInbox()
	sub, err := l.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	subject := "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer
	if err := l.nc.PublishRequest(subject, inbox, fmt.Appendf(nil, `{"batch":%d,"no_wait":true}`, most)); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	var found []*nats.Msg
	for len(found) < most {
		one, cancel := context.WithTimeout(ctx, attempt)
		m, err := sub.NextMsgWithContext(one)
		cancel()
		if err != nil {
			go giveBack(context.WithoutCancel(ctx), sub, most-len(found))
			if len(found) > 0 {
				return found, nil
			}
			return nil, errors.Join(ask.ErrUnavailable, err)
		}
		if status := statusOf(m); status != "" {
			_ = sub.Unsubscribe()
			if status == statusNone || status == statusPartly || len(found) > 0 {
				return found, nil
			}
			return nil, fmt.Errorf("%w: %s %s", ask.ErrUnavailable, status, m.Header.Get("Description"))
		}
		found = append(found, m)
	}
	_ = sub.Unsubscribe()
	return found, nil
}

// statusOf returns the status of a message from the server itself, or "" for a
// message of the stream.
func statusOf(m *nats.Msg) string {
	if len(m.Data) > 0 {
		return ""
	}
	return m.Header.Get("Status")
}

// giveBack returns late messages to their consumer.
func giveBack(ctx context.Context, sub *nats.Subscription, most int) {
	defer func() { _ = sub.Unsubscribe() }()
	ctx, cancel := context.WithTimeout(ctx, straggler)
	defer cancel()
	for range most {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil || statusOf(m) != "" {
			return
		}
		_ = m.Nak()
	}
}
