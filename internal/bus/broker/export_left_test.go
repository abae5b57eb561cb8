package broker

import (
	"fmt"
	"strings"

	"github.com/askbus/askbus/internal/protocol/subject"
)

// Left says what the broker still holds of requests; empty: nothing.
func (b *Broker) Left() string {
	var left []string
	say := func(what string, n int) {
		if n != 0 {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	b.workers.mu.Lock()
	say("lines", len(b.workers.lines))
	say("tenants with jobs", len(b.workers.tenants))
	say("waiting bytes", b.workers.waiting)
	b.workers.mu.Unlock()
	b.waits.mu.Lock()
	say("held requests", b.waits.n)
	say("asks that are waited for", len(b.waits.byKey))
	say("requests for work", b.waits.next)
	b.waits.mu.Unlock()
	say("checks", len(b.waits.checks))
	for _, kind := range []string{subject.Question, subject.Outcome} {
		s := b.republished[kind]
		s.mu.Lock()
		say("who wait for a "+kind, len(s.waiting))
		s.mu.Unlock()
	}
	return strings.Join(left, ", ")
}
