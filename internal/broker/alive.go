package broker

import (
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// plainHold is the hold that is advised to plain clients. A held request hears
// nothing when its broker dies, so a longer one is for clients that accept that.
const plainHold = 30 * time.Second

// answerAlive answers whether this very broker runs. NATS itself answers when
// it does not.
func (b *Broker) answerAlive() (*nats.Subscription, error) {
	sub, err := b.nc.Subscribe(subject.Agents+".*.*."+string(subject.VerbAlive)+"."+b.id, func(m *nats.Msg) {
		r, err := subject.Parse(m.Subject)
		if err != nil || !subject.ReplyAllowed(r, m.Reply) {
			b.dropped.Add(1)
			return
		}
		_ = b.nc.Publish(m.Reply, nil) // else it looks as if we were gone
	})
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	return sub, nil
}

// goOn says how to go on with an ask that is pending.
func (b *Broker) goOn(r *request, s *wire.StatusReply) {
	if s.State == ask.StatePending && (r.Verb == subject.VerbAsk || r.Verb == subject.VerbWait) {
		s.Hold, s.Holder = plainHold, b.id
	}
}
