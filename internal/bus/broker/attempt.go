package broker

import (
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
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
