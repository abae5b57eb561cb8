package torture

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Rule names a promise of docs/guarantees.md.
type Rule string

// The rules.
const (
	OneOutcome    Rule = "one-outcome"
	FirstWins     Rule = "first-wins"
	AskKept       Rule = "ask-kept"
	AnswerKept    Rule = "answer-kept"
	ToldAsStored  Rule = "told-as-stored"
	Audience      Rule = "audience"
	NoGhost       Rule = "no-ghost"
	InTime        Rule = "in-time"
	Ends          Rule = "ends"
	AgentLearns   Rule = "agent-learns"
	SurfaceLearns Rule = "surface-learns"
	GivesUp       Rule = "gives-up"
	VoteKept      Rule = "vote-kept"
	PolicyReached Rule = "policy-reached"
	OneVote       Rule = "one-vote"
	StandIn       Rule = "stand-in"
	StepOnce      Rule = "step-once"
)

// Limits is what the checker must know of a run.
type Limits struct {
	Retention    time.Duration     // after its deadline an ask may be unknown
	Margin       time.Duration     // how late the server's timer may be; 0: as late as it likes
	Unread       []Span            // periods in which the ledger was not read in time
	Ends         time.Duration     // limit for an ask to end after its deadline
	Steps        time.Duration     // limit for a step of a ladder to be taken
	Learns       time.Duration     // limit after that for all parties to learn of it
	Posts        time.Duration     // limit of a posting surface: a lost reply is repeated after a minute
	End          time.Duration     // when the recording ended
	Screens      map[string]string // the live screens, by name, and the tenant that each sees ("" is all)
	Posting      []string          // the posting surfaces
	Undisturbed  bool              // no faults: every screen learns everything
	PostingFrom  time.Duration     // the posting surfaces get outcomes from here on
	ScreensReady time.Duration     // the live screens listened from here on
}

// Span is a part of a run.
type Span struct{ From, To time.Duration }

// Violation is a broken promise: its ask, and the events that show it.
type Violation struct {
	Rule   Rule
	Key    ask.Key
	Life   string
	Text   string
	Events []Event
}

// Check returns the broken promises of a history. It is pure. Violations are in the order of the
// first event of their ask. It omits ids for which nothing is promised because the server's timer
// exceeded the margin.
//
// A checker of linearizability (porcupine) finds half of what this one does: a register that is written
// once cannot say that an ask was forgotten, told late or decided by somebody outside its audience.
func Check(events []Event, lim Limits) []Violation {
	order, byKey := byKey(events)
	aways := awaysOf(events)
	var found []Violation
	for _, k := range order {
		if !late(byKey[k], lim) {
			found = append(found, checkKey(k, byKey[k], aways, lim)...)
		}
	}
	return found
}

// overtaken counts the ids with violations that [Check] omits.
func overtaken(events []Event, lim Limits) (n int) {
	order, byKey := byKey(events)
	aways := awaysOf(events)
	for _, k := range order {
		if late(byKey[k], lim) && len(checkKey(k, byKey[k], aways, lim)) > 0 {
			n++
		}
	}
	return n
}

// byKey groups a history by id, in the order of their first events.
func byKey(events []Event) (order []ask.Key, byKey map[ask.Key][]Event) {
	byKey = map[ask.Key][]Event{}
	for _, e := range events {
		if e.Key == (ask.Key{}) {
			continue
		}
		if byKey[e.Key] == nil {
			order = append(order, e.Key)
		}
		byKey[e.Key] = append(byKey[e.Key], e)
	}
	return order, byKey
}

// awaysOf returns what people said about who stands in for them.
func awaysOf(events []Event) (all []Event) {
	for _, e := range events {
		if e.Away != nil {
			all = append(all, e)
		}
	}
	return all
}

// late reports whether an expiry was stored later than the margin allows: it then outlives the
// outcome before it, and counts as the first once that is gone.
func late(events []Event, lim Limits) bool {
	return lim.Margin > 0 && slices.ContainsFunc(events, func(e Event) bool { return e.Op == OpStored && e.Late > lim.Margin })
}

// life is what parties learned of one question under an id.
type life struct {
	name     string
	kept     bool          // an ask for it was acknowledged …
	keptAt   time.Duration // … first at this time
	deadline time.Duration
	told     []*Event // with an outcome of this life, except OpStored
	stored   []*Event // in the ledger, by sequence
	ended    time.Duration
	truth    *Truth // the first stored outcome, else the first learned one
}

func checkKey(k ask.Key, events, aways []Event, lim Limits) []Violation {
	c := &checking{key: k, events: events, aways: aways, lim: lim}
	for _, l := range livesOf(events, lim) {
		c.stored(l)
		c.answers(l)
		c.votes(l)
		c.seats(l)
		c.steps(l)
		c.outsiders(l)
		c.gaveUp(l)
		c.lost(l)
		c.early(l)
		c.liveness(l)
	}
	c.strangers()
	return c.found
}

// checking is the check of one id.
type checking struct {
	key    ask.Key
	events []Event
	aways  []Event // who was said to stand in for whom
	lim    Limits
	found  []Violation
}

func (c *checking) report(r Rule, l string, events []*Event, format string, args ...any) {
	v := Violation{Rule: r, Key: c.key, Life: l, Text: fmt.Sprintf(format, args...)}
	for _, e := range events {
		v.Events = append(v.Events, *e)
	}
	c.found = append(c.found, v)
}

// livesOf groups the events of an id by question.
func livesOf(events []Event, lim Limits) []*life {
	var lives []*life
	byName := map[string]*life{}
	of := func(name string) *life {
		l := byName[name]
		if l == nil {
			l = &life{name: name}
			byName[name], lives = l, append(lives, l)
		}
		return l
	}
	for i := range events {
		e := &events[i]
		if e.Op == OpAsk && e.Life != "" {
			l := of(e.Life)
			if e.Code == OK && (!l.kept || e.Told < l.keptAt) {
				l.kept, l.keptAt = true, e.Told
			}
			if e.Code == OK {
				l.deadline = e.Deadline
			}
		}
		if e.Truth == nil {
			continue
		}
		l := of(e.Truth.Life)
		if e.Op == OpStored {
			l.stored = append(l.stored, e)
		} else {
			l.told = append(l.told, e)
		}
	}
	for _, l := range lives {
		l.settle(lim)
	}
	return lives
}

// settle sets the true outcome of a life and when it ended. Stored outcomes do not count if the
// first may have expired before it was read.
func (l *life) settle(lim Limits) {
	if slices.ContainsFunc(lim.Unread, func(s Span) bool {
		return slices.ContainsFunc(slices.Concat(l.stored, l.told), func(e *Event) bool { return s.From <= e.Truth.At && e.Truth.At <= s.To })
	}) {
		l.stored = nil
	}
	slices.SortStableFunc(l.stored, func(a, b *Event) int { return cmp.Compare(a.Seq, b.Seq) })
	all := slices.Concat(l.stored, l.told)
	if len(all) == 0 {
		return
	}
	l.truth = all[0].Truth
	l.ended = l.truth.At
	if l.truth.Status == ask.StatusExpired {
		l.ended = max(l.ended, l.deadline)
	}
}
