// Package waiting computes what waiting for people costs: which agents are
// blocked, how long agents waited, and how fast people, agents and teams get
// answers. It reads records and does nothing else.
package waiting

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Everybody is the team of asks that are for nobody in particular.
const Everybody = "everybody"

// maxNames bounds each list of [Stats]; what comes later counts as [Others].
const maxNames = 1000

// Others is the name under which a list counts what is beyond its bound.
const Others = "others"

// Stats is the cost of waiting in a period. Durations are in whole seconds in
// JSON.
type Stats struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`

	BlockedAgents int     `json:"blocked_agents"` // now
	PendingAsks   int     `json:"pending_asks"`   // now
	LongestWait   Seconds `json:"longest_wait_seconds"`

	Waited   Seconds `json:"waited_seconds"` // by all agents, within the period
	Asked    int     `json:"asked"`          // asks that began in the period
	Answered int     `json:"answered"`       // by a person, in the period
	Median   Seconds `json:"median_seconds"` // from ask to a person's answer

	People []Line `json:"people"` // those who answered, who answered most first
	Agents []Line `json:"agents"` // who waited longest first
	Teams  []Line `json:"teams"`  // the groups of the audience; an ask for two groups counts in both
}

// Line is the cost for one person, agent or team.
type Line struct {
	Name     string  `json:"name"`
	Asked    int     `json:"asked,omitempty"` // not of people
	Answered int     `json:"answered"`
	Median   Seconds `json:"median_seconds"`
	Waited   Seconds `json:"waited_seconds"` // of people: until they answered
}

// Seconds is a duration that JSON has in whole seconds.
type Seconds time.Duration

// MarshalJSON writes whole seconds.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(time.Duration(s).Round(time.Second)/time.Second), 10), nil
}

// Counter adds up records. It keeps 8 bytes for each answered ask in each list
// that names it, and at most a thousand names a list.
type Counter struct {
	from, to time.Time
	over     bool // the period has ended: what came later does not count
	stats    Stats
	blocked  map[string]bool
	medians  []time.Duration

	people, agents, teams map[string]*sum
}

type sum struct {
	asked   int
	waited  time.Duration
	answers []time.Duration
}

// NewCounter returns a counter for the period from one time to the other, which
// is now.
func NewCounter(from, to time.Time) *Counter {
	return &Counter{
		from: from, to: to, stats: Stats{From: from, To: to}, blocked: map[string]bool{},
		people: map[string]*sum{}, agents: map[string]*sum{}, teams: map[string]*sum{},
	}
}

// NewPeriod returns a counter for a period that has ended. Asks that came later do not count, and one that
// ended later waited until the period's end.
func NewPeriod(from, to time.Time) *Counter {
	c := NewCounter(from, to)
	c.over = true
	return c
}

// IsTest reports whether an ended ask is a test ask of "askbus doctor": an
// operator's credential asked only itself, and answered. An agent cannot answer
// as an operator, so it cannot hide an ask from people in this way.
func IsTest(r *ask.Record) bool {
	if r.Outcome == nil || r.Outcome.By == nil {
		return false
	}
	by := r.Outcome.By
	return by.Responder == "operator" && strings.HasPrefix(by.Principal, "nats:") && slices.Equal(r.Ask.Audience, []string{by.Principal})
}

// Add counts one record, unless it is a test.
func (c *Counter) Add(r *ask.Record) {
	if c.over && !r.AskedAt.Before(c.to) || IsTest(r) {
		return
	}
	end, answered := c.to, false
	if o := r.Outcome; o != nil && (!c.over || o.At.Before(c.to)) {
		end, answered = o.At, o.Status == ask.StatusAnswered && o.Source == ask.SourceHuman && o.By != nil
		if end.Before(c.from) {
			return
		}
	} else {
		c.stats.PendingAsks++
		c.blocked[agent(r)] = true
		c.stats.LongestWait = max(c.stats.LongestWait, Seconds(c.to.Sub(r.AskedAt)))
	}
	began := r.AskedAt
	if began.Before(c.from) {
		began = c.from
	}
	waited, asked := max(0, end.Sub(began)), 0
	if !r.AskedAt.Before(c.from) {
		asked = 1
	}
	c.stats.Waited += Seconds(waited)
	c.stats.Asked += asked
	lists := []*sum{of(c.agents, agent(r))}
	for _, team := range teams(&r.Ask) {
		lists = append(lists, of(c.teams, team))
	}
	if answered {
		c.stats.Answered++
		c.medians = append(c.medians, r.Outcome.Waited)
		lists = append(lists, of(c.people, cmp.Or(r.Outcome.By.Name, r.Outcome.By.Principal)))
	}
	for _, s := range lists {
		s.asked, s.waited = s.asked+asked, s.waited+waited
		if answered {
			s.answers = append(s.answers, r.Outcome.Waited)
		}
	}
}

// of returns the sum of a name, or that of the others if there is no room.
func of(list map[string]*sum, name string) *sum {
	if s := list[name]; s != nil {
		return s
	}
	if len(list) >= maxNames {
		name = Others
	}
	s := list[name]
	if s == nil {
		s = new(sum)
		list[name] = s
	}
	return s
}

// agent names who waits: by the name that it gives, else by its id or session.
func agent(r *ask.Record) string {
	return cmp.Or(r.Ask.Agent.Name, r.Ask.Agent.ID, r.Ask.Session)
}

// teams are the groups that an ask is for.
func teams(a *ask.Ask) []string {
	var groups []string
	for _, of := range a.Audience {
		if group, ok := strings.CutPrefix(of, "group:"); ok && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	if len(groups) == 0 {
		return []string{Everybody}
	}
	return groups
}

// Stats returns what was counted.
func (c *Counter) Stats() Stats {
	s := c.stats
	s.BlockedAgents, s.Median = len(c.blocked), median(c.medians)
	s.People = lines(c.people, func(l Line) int64 { return int64(l.Answered) })
	for i := range s.People {
		s.People[i].Asked = 0
	}
	byWait := func(l Line) int64 { return int64(l.Waited) }
	s.Agents, s.Teams = lines(c.agents, byWait), lines(c.teams, byWait)
	return s
}

// Noisiest returns the agent that asked most in the period; the zero line if none did, or several asked as often.
func Noisiest(agents []Line) (most Line) {
	second := 0
	for _, l := range agents {
		switch {
		case l.Name == Others:
		case l.Asked > most.Asked:
			most, second = l, most.Asked
		default:
			second = max(second, l.Asked)
		}
	}
	if most.Asked == second {
		return Line{}
	}
	return most
}

// lines sorts a list by its weight, the heaviest first.
func lines(list map[string]*sum, weight func(Line) int64) []Line {
	all := make([]Line, 0, len(list))
	for name, s := range list {
		all = append(all, Line{name, s.asked, len(s.answers), median(s.answers), Seconds(s.waited)})
	}
	sort.Slice(all, func(i, j int) bool {
		x, y := all[i], all[j]
		return cmp.Or(cmp.Compare(weight(y), weight(x)), cmp.Compare(x.Name, y.Name)) < 0
	})
	return all
}

// median is the lower one of an even number.
func median(all []time.Duration) Seconds {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return Seconds(sorted[(len(sorted)-1)/2])
}
