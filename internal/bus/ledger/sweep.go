package ledger

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Due is an ask about which something is to be done.
type Due struct {
	ask.Key
	Step   bool // a step of its ladder, which a broker takes
	OnCall bool // schedules say who may decide it, and that may have changed
	Late   bool // the server's timer missed its deadline
}

// swept is the state of the sweep of a partition: how far it has read, and when
// the earliest question of each earlier stretch is due. Questions are only
// removed from a stretch, so that time is never too late.
//
// Reading every pending question at each sweep costs seconds of a core for a
// million of them. An index by deadline would be exact, but it costs each broker
// a hundred bytes for each pending ask, and is rebuilt at every start; stretches
// cost 40 bytes for a thousand asks.
type swept struct {
	next      uint64
	stretches []stretch
	seen      int64 // questions and their bytes, for the mean size
	bytes     int64
}

type stretch struct {
	from, to uint64
	n        int
	onCall   uint64    // the turn for which those were returned whose deciders are on call; 0: it has none
	due      time.Time // the deadline of one, with its allowance, or its next step
	step     time.Time // the earliest next step; zero: none
}

const (
	sweepBatch = 10_000 // questions that a sweep reads at once
	stretchMax = 1_000  // questions of a stretch
)

// Overdue returns the questions that the server's timer missed, and those whose
// ladder has a step that is due. It reads those
// stored since the last call, and the stretches in which one is due: at most
// about most questions of a partition; the next call continues there, so where
// more are late some end minutes late. Only asks at which nobody looks do: get,
// wait, list, answer and next expire an overdue ask at once. turn counts how often
// it has changed who is on call: after each change it returns every question that
// a schedule says who may decide. A question that another broker wrote since, to say
// who is on call, it does not return: brokers that differ would rewrite each other's
// without end. turned is when that last changed. It is not safe for concurrent use.
func (l *Ledger) Overdue(ctx context.Context, now time.Time, most int, turn uint64, turned time.Time) ([]Due, error) {
	if l.restored.Swap(false) { // the streams may have come back shorter
		clear(l.swept)
	}
	var keys []Due
	for p := range l.n {
		late, err := l.overdue(ctx, p, now, most, turn, turned)
		if keys = append(keys, late...); err != nil {
			return keys, err
		}
	}
	return keys, l.refreshReserve(ctx)
}

// NextStep returns when the next step of a ladder is due, of those asks that
// [Ledger.Overdue] has read; zero: none. It may be too early.
func (l *Ledger) NextStep() (at time.Time) {
	for p := range l.swept {
		for _, st := range l.swept[p].stretches {
			if !st.step.IsZero() && (at.IsZero() || st.step.Before(at)) {
				at = st.step
			}
		}
	}
	return at
}

// overdue returns the questions of a partition that were due before limit.
func (l *Ledger) overdue(ctx context.Context, p int, limit time.Time, most int, turn uint64, turned time.Time) (late []Due, err error) {
	s := &l.swept[p]
	looked := 0
	kept := make([]stretch, 0, len(s.stretches))
	for i, st := range s.stretches {
		if looked >= most || !st.due.Before(limit) && (st.onCall == 0 || st.onCall == turn) {
			kept = append(kept, st)
			continue
		}
		batch, end, err := l.questions(ctx, p, st.from, st.n)
		if err != nil {
			s.stretches = append(kept, s.stretches[i:]...)
			return late, err
		}
		again, rest := stretch{from: st.from, to: st.to}, stretch{}
		if n := len(batch); !end && n < st.n && batch[n-1].seq < st.to { // a slow server sent fewer
			rest = st
			again.to, rest.from, rest.n = batch[n-1].seq, batch[n-1].seq+1, st.n-n
		}
		for _, q := range batch {
			if q.seq <= st.to {
				late = again.add(q, limit, late, st.onCall != turn, turn)
			}
		}
		looked += len(batch)
		for _, st := range []stretch{again, rest} {
			if st.n > 0 {
				kept = append(kept, st)
			}
		}
	}
	s.stretches = kept
	for looked < most {
		batch, end, err := l.questions(ctx, p, s.next, min(sweepBatch, most-looked))
		if err != nil {
			return late, err
		}
		for _, q := range batch {
			last := len(s.stretches) - 1
			if last < 0 || s.stretches[last].n >= stretchMax {
				s.stretches = append(s.stretches, stretch{from: q.seq})
				last++
			}
			s.seen, s.bytes = s.seen+1, s.bytes+q.size
			late = s.stretches[last].add(q, limit, late, turned.IsZero() || !q.relieved.After(turned), turn)
			s.stretches[last].to, s.next = q.seq, q.seq+1
		}
		if looked += len(batch); end {
			break
		}
	}
	return late, nil
}

// add counts a question; one that was due before limit is late.
// So is one whose deciders are on call, if this stretch was not read for this turn.
func (s *stretch) add(q dueQuestion, limit time.Time, late []Due, unread bool, turn uint64) []Due {
	due := q.due.Add(lifecycle.Overdue)
	q.wait(limit)
	if !q.step.IsZero() {
		if due = q.step; s.step.IsZero() || q.step.Before(s.step) {
			s.step = q.step
		}
	}
	if s.n++; s.n == 1 || due.Before(s.due) {
		s.due = due
	}
	if q.onCall {
		s.onCall = turn
	}
	d := Due{Key: q.key, OnCall: q.onCall && unread}
	if due.Before(limit) {
		d.Step, d.Late = !q.step.IsZero(), q.step.IsZero()
	}
	if d.Step || d.Late || d.OnCall {
		return append(late, d)
	}
	return late
}

type dueQuestion struct {
	key  ask.Key
	seq  uint64
	due  time.Time
	step time.Time // the next step of its ladder, which is before it is due; zero: none
	size int64
	open *ask.OpenHours // in which the step is taken; nil: at any time

	onCall   bool      // schedules say who may decide it
	relieved time.Time // when a broker wrote it to say who is on call; zero: it was written for something else
}

// questions reads when up to n questions from seq on are due.
func (l *Ledger) questions(ctx context.Context, p int, seq uint64, n int) (found []dueQuestion, end bool, err error) {
	batch, end, err := l.headers(ctx, subject.Stream(p), subject.LedgerAll(p, subject.Key{}, subject.Question), seq, n)
	if err != nil {
		return nil, false, err
	}
	for _, m := range batch {
		k, _, _, ok := subject.ParseLedger(m.Subject)
		due, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(m.Header.Get(hdrSchedule), "@at "))
		if !ok || err != nil {
			due = m.Time.Add(ask.MaxTimeout) // no ask waits longer
		}
		body, _ := strconv.ParseInt(m.Header.Get(nats.MsgSize), 10, 64)
		step, _ := time.Parse(time.RFC3339Nano, m.Header.Get(hdrNext))
		q := dueQuestion{key: k, seq: m.Seq, due: due, step: step, size: body + int64(size(m.Msg)), onCall: m.Header.Get(hdrOnCall) != "", open: parseOpen(m.Header.Get(hdrOpen))}
		if m.Header.Get(audit.HeaderRelieved) != "" {
			q.relieved = m.Time
		}
		found = append(found, q)
	}
	return found, end, nil
}

// tail is how far back RemoveGhosts looks: a crash leaves ghosts of the very
// last outcomes.
const tail = 1024

// RemoveGhosts removes the questions of the last outcomes of each stream that a
// crash left behind. Call it after every start and reconnect.
func (l *Ledger) RemoveGhosts(ctx context.Context) error {
	l.restored.Store(true)
	for p := range l.n {
		last, err := l.lastSequence(ctx, subject.Stream(p))
		if err != nil {
			return err
		}
		err = l.eachHeader(ctx, subject.Stream(p), subject.LedgerAll(p, subject.Key{}, subject.Outcome), max(last, tail)-tail, tail, func(o message) error {
			return l.removeGhostOf(ctx, o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeGhostOf removes the question of an outcome, if it is still stored.
func (l *Ledger) removeGhostOf(ctx context.Context, o message) error {
	k, _, _, ok := subject.ParseLedger(o.Subject)
	if !ok {
		return nil
	}
	q, err := l.question(ctx, k)
	switch {
	case errors.Is(err, errNone):
		return nil
	case err != nil:
		return err
	case q.Seq < o.Seq || sameLife(q, o):
		return l.removeGhost(ctx, k, q.Seq)
	}
	return nil
}
