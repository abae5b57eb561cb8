package broker

import (
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// plainHold is the hold that plain clients are advised to use. A held request
// gets no reply if its broker dies, so a longer hold is for clients that accept
// that. There is no interim reply: nats.go and nats.js take any for the answer.
// Our own clients ask the broker that holds their request whether it runs
// (answerAlive) and may hold longer.
const plainHold = 30 * time.Second

// answerAlive replies to requests that check whether this broker runs. If it
// does not, NATS itself replies.
func (b *Broker) answerAlive() (stop func(), err error) {
	var subs []*nats.Subscription
	stop = func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // it may be gone with its connection
		}
	}
	for _, at := range []string{subject.Agents, subject.Responders + "." + subject.TypeGateway + ".*", subject.Responders + "." + subject.TypeOperator + ".*"} {
		sub, err := b.nc.Subscribe(at+".*.*."+string(subject.VerbAlive)+"."+b.id, func(m *nats.Msg) {
			r, err := subject.Parse(m.Subject)
			if err != nil || !subject.ReplyAllowed(r, m.Reply) {
				b.dropped.Add(1)
				return
			}
			_ = b.nc.Publish(m.Reply, nil) // a lost reply looks as if this broker had stopped
		})
		if err != nil {
			stop()
			return nil, fmt.Errorf("broker: %w", err)
		}
		subs = append(subs, sub)
	}
	return stop, nil
}

// goOn tells a client how to continue with a pending ask.
func (b *Broker) goOn(r *request, s *wire.StatusReply) {
	if s.State == ask.StatePending && (r.Verb == subject.VerbAsk || r.Verb == subject.VerbWait) {
		s.Hold, s.Holder = plainHold, b.id
	}
}
