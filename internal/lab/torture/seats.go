package torture

import (
	"fmt"
	"slices"
	"time"
)

// Away is what a person said about who stands in for them.
type Away struct {
	Absent, By string        // who is away, and who stands in
	Tenant     string        // for whose asks; empty: of every tenant
	Until      time.Duration // zero: it ends
}

// String says it in a history.
func (a *Away) String() string {
	if a.Until == 0 {
		return fmt.Sprintf(" %s no longer for %s of %q", a.By, a.Absent, a.Tenant)
	}
	return fmt.Sprintf(" %s for %s of %q until %.3fs", a.By, a.Absent, a.Tenant, a.Until.Seconds())
}

// seats checks whose rights decided: of nobody whom the ask excludes, of somebody who had the right, for
// somebody who was away only while that was in effect, and of each person one vote.
func (c *checking) seats(l *life) {
	if l.truth == nil {
		return
	}
	var seats []Seat
	if l.truth.Votes != nil {
		seats = l.truth.Votes.Standing
	}
	outcome := &Event{Told: l.ended, Who: "outcome", Key: c.key, Life: l.name, Truth: l.truth}
	whose, by := map[string]bool{}, map[string]bool{}
	for i := range seats {
		s := &seats[i]
		if by[s.By] || whose[s.whose()] {
			c.report(OneVote, l.name, []*Event{outcome}, "two votes count that are of %s, or for %s", s.By, s.whose())
			return
		}
		by[s.By], whose[s.whose()] = true, true
	}
	if l.truth.By != nil {
		seats = append(slices.Clip(seats), *l.truth.By)
	}
	for i := range seats {
		if why := c.unseated(&seats[i], &l.truth.Needs); why != "" {
			c.report(StandIn, l.name, []*Event{outcome}, "%s decided as %s at %.3fs: %s", seats[i].By, seats[i].whose(), seats[i].At.Seconds(), why)
			return
		}
	}
}

// unseated says why somebody had no right to decide, or returns "".
func (c *checking) unseated(s *Seat, needs *Needs) string {
	switch {
	case slices.Contains(needs.Exclude, s.By) || slices.Contains(needs.Exclude, s.For):
		return "the ask excludes them"
	case needs.Group && !s.Member:
		return "they are not in the group"
	case s.Chain:
		return "a stand-in of a stand-in"
	case s.For != "" && !c.stoodIn(s):
		return "nobody had said so, or it was over"
	}
	return ""
}

// stoodIn reports whether it may have been in effect, at some moment between the vote as it is dated and the
// reply to it, that somebody stands in for somebody. What was said without a reply may have been carried out, and
// late. So may what was refused once its time was over: it was sent again because an earlier reply was lost.
func (c *checking) stoodIn(s *Seat) bool {
	told := c.lim.End
	for i := range c.events {
		e := &c.events[i]
		if e.Mine == s.ID && (e.Code == OK || e.Code == Voted || e.Code == Lost) { // another attempt may have been refused before
			told = e.Told
		}
	}
	for i := range c.aways {
		e := &c.aways[i]
		if a := e.Away; a.Until != 0 && a.By == s.By && a.Absent == s.For && (a.Tenant == "" || a.Tenant == c.key.Tenant) &&
			e.Code != Forbidden && (e.Code != Invalid || e.Told >= a.Until) && e.Began <= told && c.over(e)+earlyBy >= s.At {
			return true
		}
	}
	return false
}

// over returns when a stand-in was over: at the time that was said, or when its person had ended it.
func (c *checking) over(set *Event) time.Duration {
	until := set.Away.Until
	if set.Code != OK {
		return until
	}
	for i := range c.aways {
		e := &c.aways[i]
		if a := e.Away; a.Until == 0 && e.Code == OK && e.Began >= set.Told && a.By == set.Away.By && a.Absent == set.Away.Absent && a.Tenant == set.Away.Tenant {
			until = min(until, e.Told)
		}
	}
	return until
}
