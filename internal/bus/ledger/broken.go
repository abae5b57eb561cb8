//go:build sabotage

package ledger

import (
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/sabotage"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The functions in this file break guarantees on purpose, for torture: see
// package sabotage. Builds without its tag have whole.go instead.

// breakage is the guarantee to break.
type breakage struct {
	Sabotage sabotage.Kind // set only by internal/lab/torture
}

// broken counts the writes that sabotage saw.
type broken struct{ atomic.Int64 }

// breakEvery says that sabotage hits every nth write.
const breakEvery = 7

// breakStream disables the republishing of outcomes.
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
	if next, err := time.Parse(time.RFC3339Nano, msg.Header.Get(hdrNext)); err == nil && l.opts.Sabotage == sabotage.StepEarly {
		msg.Header.Set(hdrNext, next.Add(-5*time.Second).Format(time.RFC3339Nano))
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

// breakRead reads the last message of a subject instead of the first.
func (l *Ledger) breakRead(subj string, seq uint64) (request any, broken bool) {
	return map[string]string{"last_by_subj": subj}, l.opts.Sabotage == sabotage.LastWins && seq <= 1
}

// breakWork hands out no outcomes.
func (l *Ledger) breakWork(kind string) (skip bool) {
	return l.opts.Sabotage == sabotage.NoWork && kind == subject.Outcome
}
