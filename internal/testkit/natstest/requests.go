package natstest

import (
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// Requests counts the requests that agents and gateways send from now on: of
// returns how many of a verb were sent. It is not safe for concurrent use.
func (b *Bus) Requests() (of func(subject.Verb) int) {
	b.t.Helper()
	admin, sent, counts := b.Admin(), make(chan *nats.Msg, 1<<16), map[subject.Verb]int{}
	for _, subj := range []string{subject.Agents + ".>", subject.Responders + "." + subject.TypeGateway + ".>"} {
		if _, err := admin.ChanSubscribe(subj, sent); err != nil {
			b.t.Fatal(err)
		}
	}
	flush := func() {
		b.t.Helper()
		if err := admin.Flush(); err != nil {
			b.t.Fatal(err)
		}
	}
	flush()
	return func(v subject.Verb) int {
		b.t.Helper()
		for flush(); len(sent) > 0; {
			if r, err := subject.Parse((<-sent).Subject); err == nil {
				counts[r.Verb]++
			}
		}
		return counts[v]
	}
}
