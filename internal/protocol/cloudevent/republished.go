package cloudevent

import (
	"strconv"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// FirstOutcome returns the ask whose outcome a republished message is. ok is
// true only if the message counts: a stream republished it (Nats-Stream) from
// the ledger subject of this ask, and it was the first message there
// (Nats-Last-Sequence is 0), because a late expiry may follow an answer. It may
// still come twice: after a crash an outcome was republished. Only this
// function implements the rule.
func FirstOutcome(m *nats.Msg) (k ask.Key, ok bool) {
	k, kind, ok := republished(m)
	return k, ok && kind == subject.Outcome && m.Header.Get("Nats-Last-Sequence") == "0"
}

// Republished returns the question or outcome that a stream republished in m,
// and its position there. For outcomes use [FirstOutcome].
func Republished(m *nats.Msg) (k ask.Key, kind string, seq uint64, ok bool) {
	k, kind, ok = republished(m)
	if !ok {
		return ask.Key{}, "", 0, false
	}
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	return k, kind, seq, err == nil
}

func republished(m *nats.Msg) (k ask.Key, kind string, ok bool) {
	k, kind, ok = subject.ParseOut(m.Subject)
	if !ok || m.Header.Get("Nats-Stream") == "" {
		return ask.Key{}, "", false
	}
	from, of, _, ok := subject.ParseLedger(m.Header.Get("Nats-Subject"))
	return k, kind, ok && from == k && of == kind
}
