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
	AskID   string        // the id if it is a new ask; in the reply: the id to ask with
	Timeout time.Duration // until the ask ends by itself; 0: as long as an ask may be open
	Replace bool          // AskID names this ask, whatever was asked before
}

type repeatJSON struct {
	AskID   string   `json:"ask_id"`
	Timeout duration `json:"timeout,omitzero"`
	Replace bool     `json:"replace,omitempty"`
}

// EncodeRepeat returns the body of repeat or of its reply.
func EncodeRepeat(r Repeat) ([]byte, error) {
	return Marshal(repeatJSON{r.AskID, duration(r.Timeout), r.Replace})
}

// DecodeRepeat reads the body of repeat for a repeat key, or of its reply,
// strictly.
func DecodeRepeat(data []byte, key string) (Repeat, error) {
	var w repeatJSON
	if err := Strict("repeat", data, &w); err != nil {
		return Repeat{}, err
	}
	var f []ask.Fault
	if _, ok := RepeatKey(key + "-"); !ok {
		f = append(f, ask.NewFault("", ask.FaultBadRepeatKey, clip(key), RepeatDigits))
	}
	if of, _ := RepeatKey(w.AskID); !ask.ValidToken(w.AskID) || of != key && of != "" {
		f = append(f, ask.NewFault("/ask_id", ask.FaultBadRepeatID, clip(w.AskID), clip(key), ask.MaxToken))
	}
	if w.Timeout < 0 {
		f = append(f, ask.NewFault("/timeout", ask.FaultNegative, time.Duration(w.Timeout)))
	}
	return Repeat{w.AskID, time.Duration(w.Timeout), w.Replace}, ask.InvalidError("repeat", f)
}
