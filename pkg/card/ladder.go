package card

import (
	"cmp"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Ladder says how far a pending ask has been escalated, and what comes next.
type Ladder struct {
	Told   string // "told group oncall"; empty: nobody was told yet
	ToldAt Moment
	Next   string // "next: schedule sre"; empty: no further step
	NextAt Moment // "in 4 min"; "Mon 09:00" if it is in other open hours than now
	Waits  string // "waiting, because Mei is looking"; empty: it does not
}

// newLadder returns how far an ask has been escalated, or nil for one without a ladder.
func newLadder(r *ask.Record, v Viewer, now time.Time) *Ladder {
	if len(r.Ask.Escalate) == 0 && r.Escalated.Last() == nil || r.State == ask.StateResolved || r.Outcome != nil {
		return nil
	}
	w, past, coming := v.words(), v.live(Ago), v.live(Until)
	l := &Ladder{}
	if last := r.Escalated.Last(); last != nil {
		l.Told, l.ToldAt = w.Say("told %s", line(last.Whom(w.Tag))), v.When(last.At, now, past)
	}
	next, ok := r.Ask.NextStep(r.AskedAt, r.Escalated)
	if !ok {
		return l
	}
	at, ok := r.Ask.StepDue(&next, now)
	if !ok {
		return l
	}
	l.Next, l.NextAt = w.Say("next: %s", line(next.Whom(w.Tag))), v.When(at, now, coming)
	if other := r.Ask.OtherHours(at, now); other || v.Shared {
		if other {
			coming = OnDay
		}
		l.Next, l.NextAt = w.Say("next: %s,", line(next.Whom(w.Tag))), v.When(at, now, coming)
	}
	if next.Paused {
		i := slices.IndexFunc(r.Escalated.Seen, func(s ask.Seen) bool { return s.N == next.N })
		by := r.Escalated.Seen[i].By
		l.Waits = w.Say("waiting, because %s is looking at it", line(cmp.Or(by.Name, by.Principal)))
	}
	return l
}

// Text returns the ladder in one line: "told group oncall 3 min ago · next: schedule sre in 4 min".
func (l *Ladder) Text() string {
	said := ""
	add := func(words string, at Moment) {
		if words == "" {
			return
		}
		if said != "" {
			said += " · "
		}
		if said += words; at.Words != "" {
			said += " " + at.Words
		}
	}
	add(l.Told, l.ToldAt)
	add(l.Next, l.NextAt)
	add(l.Waits, Moment{})
	return said
}
