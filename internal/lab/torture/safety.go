package torture

import (
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// stored checks that all parties learned the same outcome, the first stored one.
func (c *checking) stored(l *life) {
	if l.truth == nil {
		return
	}
	told := slices.DeleteFunc(slices.Clone(l.told), func(e *Event) bool { return c.outlived(l, e) })
	if len(l.stored) > 0 {
		for _, e := range told {
			if e.Truth.Text == l.truth.Text {
				continue
			}
			late := slices.IndexFunc(l.stored, func(s *Event) bool { return s.Truth.Text == e.Truth.Text })
			if late > 0 {
				c.report(FirstWins, l.name, []*Event{l.stored[0], l.stored[late], e}, "%s was told an outcome that was stored after the first", e.Who)
			} else {
				c.report(ToldAsStored, l.name, []*Event{l.stored[0], e}, "%s was told an outcome that is not the stored one", e.Who)
			}
			break
		}
	}
	for _, e := range told {
		if e.Truth.Text != told[0].Truth.Text {
			c.report(OneOutcome, l.name, []*Event{told[0], e}, "%s and %s were told different outcomes", told[0].Who, e.Who)
			break
		}
	}
	// A second answer is a second outcome; a late expiry is not an outcome.
	if len(l.stored) > 1 {
		for _, s := range l.stored[1:] {
			if s.Truth.Status != ask.StatusExpired && s.Truth.Text != l.truth.Text {
				c.report(OneOutcome, l.name, []*Event{l.stored[0], s}, "the ledger holds a second outcome")
				break
			}
		}
	}
}

// outlived reports whether somebody was told of an expiry when the first one may have been gone: a vote that is
// stored while the server's timer fires has a timer of its own, whose expiry is stored later and kept as long.
func (c *checking) outlived(l *life, e *Event) bool {
	return c.lim.Retention > 0 && l.truth.Status == ask.StatusExpired && e.Truth.Status == ask.StatusExpired &&
		e.Truth.Text != l.truth.Text && e.Told >= l.truth.At+c.lim.Retention
}

// answers checks that every party that learned that it ended an ask did end it.
func (c *checking) answers(l *life) {
	for _, e := range l.told {
		if e.Code != OK {
			continue
		}
		want := ask.Status("")
		switch e.Op { //nolint:exhaustive // only these end an ask
		case OpAnswer, OpDecline:
			if e.Truth.AnswerID != e.Mine && (e.Truth.Votes == nil || !e.Truth.Votes.has(e.Mine)) {
				c.report(AnswerKept, l.name, []*Event{e}, "%s was told that it won, with somebody else's outcome", e.Who)
				return
			}
		case OpWithdraw:
			want = ask.StatusWithdrawn
		case OpAbort:
			want = ask.StatusAborted
		default:
			continue
		}
		if want != "" && e.Truth.Status != want {
			c.report(AnswerKept, l.name, []*Event{e}, "%s was told that it ended the ask, with another outcome", e.Who)
			return
		}
		for _, other := range slices.Concat(l.stored[:min(1, len(l.stored))], l.told) {
			if other.Truth.Text != e.Truth.Text {
				c.report(AnswerKept, l.name, []*Event{e, other}, "what %s was told to have decided does not hold", e.Who)
				return
			}
		}
	}
}

// votes checks that every acknowledged vote is in the outcome, and that votes reached what the ask
// needs. A vote in the last moments before the deadline may be missing from an expiry: the server
// may have taken its burst before.
func (c *checking) votes(l *life) {
	if l.truth == nil || l.truth.Votes == nil {
		return
	}
	v := l.truth.Votes
	for i := range c.events {
		e := &c.events[i]
		if e.Code != Voted || e.Life != l.name || v.has(e.Mine) || l.truth.Status == ask.StatusExpired && e.Told+earlyBy > l.deadline {
			continue
		}
		c.report(VoteKept, l.name, []*Event{e}, "the vote of %s was counted, and is not in the outcome: %s", e.Who, l.truth.Text)
		return
	}
	yes, against := 0, 0
	for _, said := range v.Cast {
		switch said {
		case "":
		case "yes":
			yes++
		default:
			against++
		}
	}
	approved := l.truth.Status == ask.StatusAnswered && strings.Contains(l.truth.Text, "[go: yes ")
	denied := l.truth.Status == ask.StatusAnswered && !approved || l.truth.Status == ask.StatusCancelled
	if approved && yes < v.Need || denied && against < v.Deny {
		c.report(PolicyReached, l.name, []*Event{{Told: l.ended, Who: "outcome", Key: c.key, Life: l.name, Truth: l.truth}}, "%d of %d approve it, %d of %d deny it", yes, v.Need, against, v.Deny)
	}
}

// outsiders checks that only the audience decided.
func (c *checking) outsiders(l *life) {
	for i := range c.events {
		e := &c.events[i]
		if !e.Outsider || e.Mine == "" {
			continue
		}
		if e.Code == OK && e.Truth != nil && e.Truth.Life == l.name {
			c.report(Audience, l.name, []*Event{e}, "%s decided, and is not in the audience", e.Who)
			return
		}
		for _, t := range slices.Concat(l.stored, l.told) {
			if t.Truth.AnswerID == e.Mine {
				c.report(Audience, l.name, []*Event{e, t}, "%s decided, and is not in the audience", e.Who)
				return
			}
		}
	}
}

// leastGrace is the minimum time between an agent's last sign of life and giving up: the lease's
// term plus the brokers' tolerance.
const leastGrace = 8 * time.Minute

// gaveUp checks that no ask is given up too early, whatever faults brokers and servers had.
func (c *checking) gaveUp(l *life) {
	for _, e := range slices.Concat(l.stored, l.told) {
		if e.Truth.GaveUp && e.Truth.At-c.ack(l).Told < leastGrace {
			c.report(GivesUp, l.name, []*Event{e}, "the ask was given up within %s of its asking", leastGrace)
			return
		}
	}
}

// lost checks that an acknowledged ask stays known for its retention.
func (c *checking) lost(l *life) {
	if !l.kept {
		return
	}
	gone := l.deadline + c.lim.Retention
	acked := c.ack(l)
	for i := range c.events {
		e := &c.events[i]
		if e.Began < l.keptAt || e.Told >= gone {
			continue
		}
		switch {
		case e.Code == NotFound:
			c.report(AskKept, l.name, []*Event{acked, e}, "%s was told that an acknowledged ask does not exist", e.Who)
			return
		case e.Op == OpAsk && e.Code == OK && e.Life != l.name:
			c.report(AskKept, l.name, []*Event{acked, e}, "another question was stored under the id of an acknowledged one")
			return
		case e.Op == OpAsk && e.Code == Reused && e.Life == l.name:
			c.report(AskKept, l.name, []*Event{acked, e}, "the id of an acknowledged ask belongs to another question")
			return
		}
	}
	for i := range c.events {
		if e := &c.events[i]; e.Op == OpGhost && e.Life == l.name {
			c.report(NoGhost, l.name, []*Event{acked, e}, "the question of a stored outcome is still there")
			return
		}
	}
}

// earlyBy is by how much an ask may expire early on the driver's clock: the bus's clock has this
// uncertainty.
const earlyBy = time.Second

// early checks that no party learned of an expiry before the deadline.
func (c *checking) early(l *life) {
	if !l.kept {
		return
	}
	for _, e := range l.told {
		if e.Truth.Status == ask.StatusExpired && e.Told+earlyBy < l.deadline {
			c.report(InTime, l.name, []*Event{c.ack(l), e}, "the ask expired %.1fs before its deadline", (l.deadline - e.Told).Seconds())
			return
		}
	}
}

// ack returns the acknowledgement of a life.
func (c *checking) ack(l *life) *Event {
	for i := range c.events {
		if e := &c.events[i]; e.Op == OpAsk && e.Code == OK && e.Life == l.name && e.Told == l.keptAt {
			return e
		}
	}
	return &Event{}
}

// strangers checks that every outcome belongs to a question that was asked. A script that a party
// had started counts as asked, because the party may have been killed before it reported the ask.
func (c *checking) strangers() {
	asked := map[string]bool{}
	for i := range c.events {
		if e := &c.events[i]; e.Op == OpAsk || e.Op == OpBegun {
			asked[e.Life] = true
		}
	}
	for i := range c.events {
		if e := &c.events[i]; e.Truth != nil && !asked[e.Truth.Life] {
			c.report(ToldAsStored, e.Truth.Life, []*Event{e}, "%s was told the outcome of a question that nobody asked", e.Who)
			return
		}
	}
}
