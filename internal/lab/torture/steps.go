package torture

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// steps checks that each step of the ask's ladder was taken exactly once, in order, none before its time, none
// after the end, and none left out while the ask lived.
func (c *checking) steps(l *life) {
	sightings := c.sightings(l)
	taken := map[int]*sighting{} // where each step was seen first
	for i := range sightings {
		s := &sightings[i]
		if why := s.wrong(c.firstAsked(l)); why != "" {
			c.report(StepOnce, l.name, []*Event{s.by}, "%s was told that %s", s.by.Who, why)
			return
		}
		for _, step := range s.Steps {
			first := taken[step.N]
			if first == nil {
				taken[step.N] = s
				continue
			}
			if at := first.Steps[step.N-1].At; at != step.At {
				c.report(StepOnce, l.name, []*Event{first.by, s.by}, "step %d was taken twice, at %.3fs and at %.3fs", step.N, at.Seconds(), step.At.Seconds())
				return
			}
		}
	}
	if l.truth == nil || l.truth.Ladder == nil {
		return
	}
	end := sighting{l.truth.Ladder, &Event{Told: l.ended, Who: "outcome", Key: c.key, Life: l.name, Truth: l.truth}}
	for n := len(end.Steps) + 1; taken[n] != nil; n++ {
		s := taken[n]
		at := s.Steps[n-1].At
		switch {
		case at > l.truth.At+earlyBy:
			c.report(StepOnce, l.name, []*Event{s.by, end.by}, "step %d was taken at %.3fs, after the end", n, at.Seconds())
			return
		case l.expired() && s.by.Told+earlyBy >= l.deadline: // nobody saw it earlier, so the server may have taken the burst of the deadline before
		default:
			c.report(StepOnce, l.name, []*Event{s.by, end.by}, "step %d was taken, and is not in the outcome", n)
			return
		}
	}
	if last := len(end.Steps); last > 0 && end.Steps[last-1].At > l.truth.At+earlyBy {
		c.report(StepOnce, l.name, []*Event{end.by}, "step %d was taken at %.3fs, after the end", last, end.Steps[last-1].At.Seconds())
		return
	}
	if due, more := end.next(); more && due+c.lim.Steps < l.truth.At && due < l.deadline {
		c.report(StepOnce, l.name, []*Event{end.by}, "step %d was left out: it was due %.1fs before the end", len(end.Steps)+1, (l.truth.At - due).Seconds())
	}
}

// expired reports whether the ask ended at its deadline.
func (l *life) expired() bool { return l.truth.Status == ask.StatusExpired }

// sighting is a ladder as somebody was told of it.
type sighting struct {
	*Ladder

	by *Event
}

// sightings returns everything that anybody was told of the ask's ladder.
func (c *checking) sightings(l *life) (all []sighting) {
	for i := range c.events {
		e := &c.events[i]
		switch {
		case e.Life == l.name && e.Ladder != nil:
			all = append(all, sighting{e.Ladder, e})
		case e.Truth != nil && e.Truth.Life == l.name && e.Truth.Ladder != nil:
			all = append(all, sighting{e.Truth.Ladder, e})
		}
	}
	return all
}

// firstAsked returns when somebody first tried to ask; the bus has the ask from then on at the earliest.
func (c *checking) firstAsked(l *life) time.Duration {
	for i := range c.events {
		if e := &c.events[i]; (e.Op == OpAsk || e.Op == OpBegun) && e.Life == l.name {
			return e.Began
		}
	}
	return 0
}

// wrong says why this cannot be the ladder of an ask that was asked then, or returns "".
func (s *sighting) wrong(asked time.Duration) string {
	from, least := s.Asked, asked
	for i, step := range s.Steps {
		if step.N != i+1 || step.N > s.Most {
			return "the steps are not in order"
		}
		wait := s.wait(step.N)
		// Its time is that of the ledger, as is the one before; the other is the driver's, and when it heard of it.
		least += wait
		if step.At+time.Millisecond < from+wait || s.by.Op != OpStored && s.by.Told+earlyBy < least {
			return "a step was taken before its time"
		}
		from = step.At
	}
	return ""
}

// next returns when the next step is due.
func (s *sighting) next() (due time.Duration, more bool) {
	n, from := len(s.Steps)+1, s.Asked
	if n > s.Most {
		return 0, false
	}
	if n > 1 {
		from = s.Steps[n-2].At
	}
	return from + s.wait(n), true
}
