package wire

import (
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// The ids of asks without an id of their own begin with their repeat key:
// [RepeatPrefix] and so many hex digits of a hash of what makes two of them the
// same. "-" and what tells them apart follow.
const (
	RepeatPrefix = "q-"
	RepeatDigits = 20
)

// RepeatKey returns the repeat key with which an ask's id begins; ok is false
// for any other id.
func RepeatKey(id string) (key string, ok bool) {
	const end = len(RepeatPrefix) + RepeatDigits
	if len(id) <= end || !strings.HasPrefix(id, RepeatPrefix) || id[end] != '-' {
		return "", false
	}
	other := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }
	return id[:end], !strings.ContainsFunc(id[len(RepeatPrefix):end], other)
}

// Repeat is a request for the id of an ask without one, and its reply.
type Repeat struct {
	AskID   string   `json:"ask_id"`            // the id if it is a new ask; in the reply: the id to ask with
	Timeout Duration `json:"timeout,omitzero"`  // until the ask ends by itself; 0: as long as an ask may be open
	Replace bool     `json:"replace,omitempty"` // AskID names this ask, whatever was asked before
}

// DecodeRepeat reads the body of repeat for a repeat key, or of its reply,
// strictly.
func DecodeRepeat(data []byte, key string) (Repeat, error) {
	return decode("repeat", data, func(r *Repeat) (f []ask.Fault) {
		if _, ok := RepeatKey(key + "-"); !ok {
			f = append(f, ask.NewFault("", ask.FaultBadRepeatKey, clip(key), RepeatDigits))
		}
		if of, _ := RepeatKey(r.AskID); !ask.ValidToken(r.AskID) || of != key && of != "" {
			f = append(f, ask.NewFault("/ask_id", ask.FaultBadRepeatID, clip(r.AskID), clip(key), ask.MaxToken))
		}
		if r.Timeout < 0 {
			f = append(f, ask.NewFault("/timeout", ask.FaultNegative, time.Duration(r.Timeout)))
		}
		return f
	})
}
