package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// collect sends one request that is answered by several messages: at most most
// of them, or fewer and a status that says why. The status is empty if all
// arrived.
func (l *Ledger) collect(ctx context.Context, subject string, body any, most int) (msgs []*nats.Msg, status string, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, "", err
	}
	inbox := l.nc.NewInbox()
	replies := make(chan *nats.Msg, most+1)
	sub, err := l.nc.ChanSubscribe(inbox, replies)
	if err != nil {
		return nil, "", fmt.Errorf("ledger: %s: %w", subject, errors.Join(ask.ErrUnavailable, err))
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be closed
	if err := l.nc.PublishRequest(subject, inbox, data); err != nil {
		return nil, "", fmt.Errorf("ledger: %s: %w", subject, errors.Join(ask.ErrUnavailable, err))
	}
	silence := time.NewTimer(attempt)
	defer silence.Stop()
	for len(msgs) < most {
		select {
		case m := <-replies:
			if status := statusOf(m); status != "" {
				return msgs, status, nil
			}
			msgs = append(msgs, m)
			silence.Reset(attempt)
		case <-silence.C:
			return msgs, "", fmt.Errorf("ledger: %s: %w", subject, errors.Join(ask.ErrUnavailable, nats.ErrTimeout))
		case <-ctx.Done():
			return msgs, "", fmt.Errorf("ledger: %s: %w", subject, ctx.Err())
		}
	}
	return msgs, "", nil
}

// Statuses of direct gets and pulls.
const (
	statusEnd        = "204" // of a batch
	statusNone       = "404"
	statusPartly     = "408" // fewer messages than were asked for
	statusTooMany    = "413"
	statusNoServer   = "503"
	maxMultiReplies  = 1024  // the server's own bound
	statusPullIsOver = "409" // more bytes than requested, or the consumer is gone
)

// errTooMany means that a multiple read would return too many messages.
var errTooMany = errors.New("too many messages at once")

// lasts reads the last message of every subject that matches one of filters,
// from any replica.
func (l *Ledger) lasts(ctx context.Context, stream string, filters []string) ([]message, error) {
	body := struct {
		Multi []string `json:"multi_last"`
	}{filters}
	for try := 0; ; try++ {
		found, err := l.batch(ctx, stream, body, maxMultiReplies+1)
		if err == nil || errors.Is(err, errTooMany) || try >= 3 || backOff(ctx, try) != nil {
			return found, err
		}
	}
}

// batch makes one attempt to read several messages directly, from any replica.
func (l *Ledger) batch(ctx context.Context, stream string, body any, most int) ([]message, error) {
	msgs, status, err := l.collect(ctx, "$JS.API.DIRECT.GET."+stream, body, most)
	switch {
	case err != nil:
		return nil, err
	case status == statusTooMany:
		return nil, errTooMany
	case status != statusEnd && status != statusNone:
		return nil, fmt.Errorf("ledger: read %s: status %s: %w", stream, status, ask.ErrUnavailable)
	}
	found := make([]message, len(msgs))
	for i, m := range msgs {
		if found[i], err = directMessage(m); err != nil {
			return nil, err
		}
	}
	return found, nil
}
