package lifecycle

import (
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// State is one ask as the ledger holds it, from the door to the disk and back.
// The zero value is an unknown ask. What its pointers and slices point to is
// shared and never changed.
type State struct {
	Life     string      // made by the broker when it stores the ask; receipts name it
	Version  uint64      // the sequence of the last message on .q, while pending
	Rev      int         // of the question, from 1
	Ask      *ask.Ask    // normalized, as stored
	Digests  []string    // of every revision
	Will     ask.Outcome // what holds if the deadline comes first, without its ask
	Deadline time.Time
	AskedAt  time.Time
	End      *ask.Outcome // the first outcome, which is the truth, with its ask

	// What is carried along and decides nothing.
	EventID string // of the event that asked
	Trace   string // its traceparent
	RawAsk  []byte // the ask's JSON, encoded once: it may say more than this build knows
	RawEnd  []byte // the outcome's JSON with its ask, when it is at hand
	Timed   bool   // the server's timer wrote the outcome: it may have come after another
}

// Pending reports whether the ask may still be decided.
func (s *State) Pending() bool { return s.Ask != nil && s.End == nil }

// Known reports whether the ledger holds anything of the ask.
func (s *State) Known() bool { return s.Ask != nil }

// Digest is that of the current revision, or empty when it is not known.
func (s *State) Digest() string {
	if len(s.Digests) == 0 {
		return ""
	}
	return s.Digests[len(s.Digests)-1]
}

// asked reports whether a question with this digest is a revision of the ask.
func (s *State) asked(digest string) bool {
	return slices.Contains(s.Digests, digest)
}

// New is the state that a normalized, valid ask begins with: its deadline and
// its will are written in advance.
func New(a ask.Ask, now time.Time) State {
	now = now.UTC()
	a.Deadline, a.Timeout = a.Due(now), 0
	will := ask.Outcome{
		AskID: a.ID, Tenant: a.Tenant, Session: a.Session, Status: ask.StatusExpired,
		At: a.Deadline, Waited: a.Deadline.Sub(now),
	}
	if a.AtDeadline == ask.AtDeadlineDefault {
		will.Source, will.Answers = ask.SourceDefault, a.Defaults()
	}
	return State{Rev: 1, Ask: &a, Will: will, Deadline: a.Deadline, AskedAt: now}
}

// Event is what happened to an ask: [Asked] or [Ended].
//
//sumtype:decl
type Event interface{ event() }

type (
	// Asked means that the ask was stored.
	Asked struct{ State State }
	// Ended means that an outcome was stored.
	Ended struct {
		Outcome ask.Outcome
		Raw     []byte // its JSON, when it is at hand
		Timed   bool   // by the server's timer
	}
)

func (Asked) event() {}
func (Ended) event() {}

// Apply is the state after an event. It is total: replaying the events of an
// ask, in the order in which they were stored, gives its state, whatever else
// is among them. Only the first outcome counts.
func Apply(s State, e Event) State {
	switch e := e.(type) {
	case Asked:
		if s.Known() || e.State.Ask == nil {
			return s
		}
		return e.State
	case Ended:
		if !s.Pending() {
			return s
		}
		o := e.Outcome
		o.Ask = s.Ask
		s.End, s.RawEnd, s.Timed = &o, e.Raw, e.Timed
		return s
	}
	return s
}
