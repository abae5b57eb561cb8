package lifecycle

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// RepeatWithin is how old a person's answer may be to be the answer of an ask
// that is repeated without an id: an asker that lost its connection repeats it
// within seconds, and an answer that is older may be to another question in the
// same words.
const RepeatWithin = 2 * time.Minute

// Repeatable reports whether an identical ask without an id is this one: while
// it is open (or about to be stored), and for [RepeatWithin] after a person
// answered it. An ask that ended in any other way is never repeated, because
// nobody said what it asks for: declined, withdrawn, expired, with or without
// defaults, aborted, or answered by a policy.
//
// Whether the outcome has been delivered is not part of the state; the caller
// checks it. now is the time by the ledger's clock.
func Repeatable(s *State, now time.Time) bool {
	if s.End == nil {
		return true
	}
	return s.End.Status == ask.StatusAnswered && s.End.Source == ask.SourceHuman && now.Sub(s.End.At) <= RepeatWithin
}
