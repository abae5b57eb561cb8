package ledger

import (
	"github.com/askbus/askbus/internal/sabotage"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What follows breaks promises on purpose, when torture says which: see
// package sabotage. Without, it does nothing.

// breakEvery is which of the writes sabotage hits.
const breakEvery = 7

// breakStream keeps outcomes from being republished.
func (l *Ledger) breakStream(cfg *jetstream.StreamConfig) {
	if l.opts.Sabotage == sabotage.NoNotice {
		cfg.RePublish.Source = "ledgerv1.*.*.*.*.q"
		cfg.RePublish.Destination = "outv1.{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}.q"
	}
}

// breakQuestion stores no timer, or reports that nothing is to be stored.
func (l *Ledger) breakQuestion(msg *nats.Msg) (skip bool) {
	if l.opts.Sabotage == sabotage.NoExpiry {
		for _, h := range []string{hdrSchedule, hdrScheduleTarget, hdrScheduleTTL} {
			msg.Header.Del(h)
		}
	}
	return l.opts.Sabotage == sabotage.AskUnstored && l.broken.Add(1)%breakEvery == 0
}

// breakOutcome leaves out the compare-and-set, or reports that nothing is to be
// stored.
func (l *Ledger) breakOutcome(msg *nats.Msg) (skip bool) {
	if l.opts.Sabotage == sabotage.NoCompare {
		msg.Header.Del(hdrExpectedSeq)
		msg.Header.Del(hdrScheduler)
		msg.Header.Del(hdrScheduleNext)
	}
	return l.opts.Sabotage == sabotage.AnswerUnkept && l.broken.Add(1)%breakEvery == 0
}
