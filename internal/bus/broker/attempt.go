package broker

import (
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// attempt is how long the sender of a request waits for its reply, counted from
// the arrival here. The zero value has no limit.
type attempt struct {
	arrived time.Time
	limit   time.Duration
}

// attemptOf parses the header of a request; an invalid duration is ignored.
func attemptOf(h nats.Header) attempt {
	values := h[connection.HeaderAttempt]
	if len(values) == 0 {
		return attempt{}
	}
	limit, err := time.ParseDuration(values[0])
	if err != nil || limit <= 0 {
		return attempt{}
	}
	return attempt{time.Now(), limit}
}

// over reports whether the sender has given up.
func (a attempt) over() bool { return a.limit > 0 && time.Since(a.arrived) >= a.limit }

// checkProtocol refuses a request of a program of another protocol number, before anything is
// done for it: it would not understand the reply. One that says none is not ours, and is served.
func checkProtocol(h map[string][]string) error {
	said := h[wire.HeaderProtocol]
	if len(said) == 0 || said[0] == wire.ProtocolText() {
		return nil
	}
	return ask.Refuse(ask.CodeForbidden, "this request is of protocol %s of askbus, and the broker speaks %s: run the same release of both; docs/compatibility.md says in which order to upgrade", ask.Clip(said[0], 20), wire.ProtocolText())
}
