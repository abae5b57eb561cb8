//go:build sabotage

package broker

import (
	"time"

	"github.com/askbus/askbus/internal/bus/sabotage"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// The functions in this file break guarantees on purpose, for torture: see
// package sabotage. Builds without its tag have whole.go instead.

// breakage is the guarantee to break.
type breakage struct {
	Sabotage sabotage.Kind // set only by internal/lab/torture
}

// broken returns the state to decide on, without its audience or deadline. The
// state itself is what is written and sent.
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
	switch b.opts.Sabotage { //nolint:exhaustive // of what is decided on
	case sabotage.StepEarly:
		s.AskedAt = s.AskedAt.Add(-5 * time.Second)
	case sabotage.StepLeftOut:
		a.Escalate = nil
	case sabotage.ExcludedVotes:
		a.Exclude = nil
	}
	if b.opts.Sabotage == sabotage.ShortPolicy && a.Approval != nil {
		p := *a.Approval
		p.AnyOf = []ask.Alternative{{Need: 1}}
		a.Approval = &p
	}
	s.Ask = &a
	return s
}

// breakVote reports that a vote is acknowledged and not stored.
func (b *Broker) breakVote(e lifecycle.Event) bool {
	v, ok := e.(lifecycle.Voted)
	return ok && b.opts.Sabotage == sabotage.VoteUnkept && v.Votes[len(v.Votes)-1].At.UnixMicro()%3 == 0
}

// breakStatus tells agents that somebody else answered.
func (b *Broker) breakStatus(r *request, s *wire.StatusReply) {
	if b.opts.Sabotage == sabotage.TellOther && r.Asks() && s.Outcome != nil {
		o := *s.Outcome
		o.By, o.Raw = &ask.By{Principal: "os:mallory"}, nil
		s.Outcome, s.RawOutcome = &o, nil // it names the person
	}
}

// breakEnd tells agents that somebody else answered.
func (b *Broker) breakEnd(r *request, s *lifecycle.State) *lifecycle.State {
	if b.opts.Sabotage != sabotage.TellOther || !r.Asks() || s.End.By == nil {
		return s
	}
	other, o := *s, *s.End
	o.By = &ask.By{Principal: "os:mallory", Responder: o.By.Responder}
	other.RawAsk = cloudevent.AskJSON(s)
	other.End, other.RawEnd = &o, nil // it names the person
	return &other
}
