package torture

import (
	"slices"
	"time"
)

// liveness checks that an acknowledged ask ended, and that every party that must learn of it does.
func (c *checking) liveness(l *life) {
	if !l.kept {
		return
	}
	if l.truth == nil {
		if c.lim.End > l.deadline+c.lim.Ends {
			c.report(Ends, l.name, []*Event{c.ack(l)}, "the ask has no outcome %.1fs after its deadline", (c.lim.End - l.deadline).Seconds())
		}
		return
	}
	// All parties must learn by this time; the agent's own deadline is no excuse.
	limit := l.ended + c.lim.Learns
	c.agents(l, limit)
	if !c.lim.Undisturbed {
		c.screens(l, limit+snapshot) // a missed message is found by the next snapshot
		return
	}
	c.screens(l, limit)
	c.posting(l, l.ended+c.lim.Posts)
}

// snapshot is how long a live screen may take to read everything again.
const snapshot = 67 * time.Second

// agents checks every wait that its caller did not end.
func (c *checking) agents(l *life, limit time.Duration) {
	for i := range c.events {
		e := &c.events[i]
		if e.Op != OpWait || e.Life != l.name || e.Code == GaveUp {
			continue
		}
		last := max(limit, e.Began+c.lim.Learns)
		if e.Told <= last || c.lim.End <= last {
			continue
		}
		if e.Code == OK {
			c.report(AgentLearns, l.name, []*Event{c.ack(l), e}, "the agent learned the outcome %.1fs late", (e.Told - l.ended).Seconds())
		} else {
			c.report(AgentLearns, l.name, []*Event{c.ack(l), e}, "the agent still waits %.1fs after the end", (e.Told - l.ended).Seconds())
		}
		return
	}
}

// screens checks the live screens. One that learned of a pending ask must learn its outcome;
// without faults each must learn both.
func (c *checking) screens(l *life, limit time.Duration) {
	if c.lim.End <= limit {
		return
	}
	for name, tenant := range c.lim.Screens {
		if tenant != "" && tenant != c.key.Tenant {
			continue
		}
		var shown, ended *Event
		for i := range c.events {
			e := &c.events[i]
			switch {
			case e.Who != name || e.Life != l.name:
			case e.Op == OpShown && shown == nil:
				shown = e
			case e.Op == OpEnded && ended == nil:
				ended = e
			}
		}
		switch {
		case ended != nil && ended.Told > limit && shown != nil:
			c.report(SurfaceLearns, l.name, []*Event{c.ack(l), shown, ended}, "%s was told the outcome %.1fs late", name, (ended.Told - l.ended).Seconds())
		case ended == nil && shown != nil:
			c.report(SurfaceLearns, l.name, []*Event{c.ack(l), shown}, "%s still shows the ask %.1fs after its end", name, (c.lim.End - l.ended).Seconds())
		case ended == nil && c.lim.Undisturbed && l.keptAt > c.lim.ScreensReady:
			c.report(SurfaceLearns, l.name, []*Event{c.ack(l)}, "%s was never told of the ask", name)
		default:
			continue
		}
		return
	}
}

// posting checks that every posting surface got the outcome.
func (c *checking) posting(l *life, limit time.Duration) {
	if c.lim.End <= limit || l.keptAt < c.lim.PostingFrom {
		return
	}
	for _, typ := range c.lim.Posting {
		handed := slices.ContainsFunc(c.events, func(e Event) bool {
			return e.Op == OpRetracted && e.Who == typ && e.Life == l.name
		})
		if !handed {
			c.report(SurfaceLearns, l.name, []*Event{c.ack(l)}, "%s was never handed the outcome", typ)
			return
		}
	}
}
