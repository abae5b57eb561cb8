package broker

import (
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// What follows breaks promises on purpose, when torture says which: see
// package sabotage. Without, it does nothing.

// breakHeld lets anybody decide, or forgets the deadline.
func (b *Broker) breakHeld(h *lifecycle.Held) {
	if b.opts.Sabotage == sabotage.None || h.Pending == nil {
		return
	}
	q := *h.Pending.Ask
	if b.opts.Sabotage == sabotage.AnyAudience {
		q.Audience = nil
	}
	if b.opts.Sabotage == sabotage.NoExpiry {
		q.Deadline = q.Deadline.Add(24 * time.Hour)
	}
	h.Pending.Ask = &q
}

// breakStatus tells agents that somebody else answered.
func (b *Broker) breakStatus(r *request, s *cloudevent.Status) {
	if b.opts.Sabotage == sabotage.TellOther && r.Door == subject.Agents && s.Outcome != nil {
		o := *s.Outcome
		o.By = &ask.By{Principal: "os:mallory"}
		s.Outcome = &o
	}
}

// breakEnd tells agents that somebody else answered.
func (b *Broker) breakEnd(r *request, end *cloudevent.End) *cloudevent.End {
	if b.opts.Sabotage != sabotage.TellOther || r.Door != subject.Agents || end.Outcome.By == nil {
		return end
	}
	other := *end
	other.JSON = nil // it says who it was
	other.Outcome.By = &ask.By{Principal: "os:mallory", Responder: end.Outcome.By.Responder}
	return &other
}
