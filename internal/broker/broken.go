//go:build sabotage

package broker

import (
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// What follows breaks promises on purpose, when torture says which: see
// package sabotage. A build without its tag has whole.go instead.

// breakage is the promise to break.
type breakage struct {
	Sabotage sabotage.Kind // set only by internal/torture
}

// broken is the state that is decided on: one whose audience or deadline is
// forgotten. What is written and told is the state itself.
func (b *Broker) broken(s lifecycle.State) lifecycle.State {
	if b.opts.Sabotage == sabotage.None || !s.Pending() {
		return s
	}
	a := *s.Ask
	if b.opts.Sabotage == sabotage.AnyAudience {
		a.Audience = nil
	}
	if b.opts.Sabotage == sabotage.NoExpiry {
		s.Deadline = a.Deadline.Add(24 * time.Hour)
	}
	s.Ask = &a
	return s
}

// breakStatus tells agents that somebody else answered.
func (b *Broker) breakStatus(r *request, s *wire.StatusReply) {
	if b.opts.Sabotage == sabotage.TellOther && r.Door == subject.Agents && s.Outcome != nil {
		o := *s.Outcome
		o.By = &ask.By{Principal: "os:mallory"}
		s.Outcome, s.RawOutcome = &o, nil // it says who it was
	}
}

// breakEnd tells agents that somebody else answered.
func (b *Broker) breakEnd(r *request, s *lifecycle.State) *lifecycle.State {
	if b.opts.Sabotage != sabotage.TellOther || r.Door != subject.Agents || s.End.By == nil {
		return s
	}
	other, o := *s, *s.End
	o.By = &ask.By{Principal: "os:mallory", Responder: o.By.Responder}
	other.RawAsk = cloudevent.AskJSON(s)
	other.End, other.RawEnd = &o, nil // it says who it was
	return &other
}
