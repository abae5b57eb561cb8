package cloudevent

import (
	"strconv"

	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// FirstOutcome says of which ask a republished message is the outcome. It is ok
// only when the message counts: a stream republished it (Nats-Stream) from
// the ledger subject of this ask, and it was the first message there
// (Nats-Last-Sequence is 0); a late expiry may follow an answer. First does
// not mean once: after a crash the same outcome was republished twice. This is
// the one function that knows the rule.
func FirstOutcome(m *nats.Msg) (k ask.Key, ok bool) {
	k, kind, ok := republished(m)
	return k, ok && kind == subject.Outcome && m.Header.Get("Nats-Last-Sequence") == "0"
}

// Republished says which question or outcome a stream republished in m, and its
// position there. Of outcomes only [FirstOutcome] counts.
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
