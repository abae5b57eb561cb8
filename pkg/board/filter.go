package board

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Filter selects heads of a board. The zero value selects all.
type Filter struct {
	Viewer  Viewer
	Mine    bool // only asks that the viewer may answer and that were not handed to others
	Team    bool // only asks that the viewer may answer
	Tenant  string
	Session string
	Agent   string // name or id
	Source  string // the repository that the agent works on
	// Priority selects one priority.
	Priority ask.Priority
	// Search selects asks that have all of these words: see [Head.Matches].
	Search  string
	Without map[ask.Key]time.Time // asks to leave out, from [Board.Snoozed]
	Only    map[ask.Key]time.Time // nil: all; else only these
	// Pressing also selects urgent asks that end before this time, regardless
	// of the other fields except Mine, Team and the viewer's tenants.
	Pressing time.Time
	// Group puts the asks of one session, or one agent, together. Groups are in
	// the order of their first asks.
	Group Grouping
}

// Grouping says by what a queue is grouped.
type Grouping string

// The groupings.
const (
	Ungrouped Grouping = ""
	BySession Grouping = "session"
	ByAgent   Grouping = "agent"
)

// Of returns the group of an ask.
func (g Grouping) Of(h Head) string {
	switch g {
	case BySession:
		return h.Key.Tenant + "/" + h.Key.Session
	case ByAgent:
		return cmp.Or(h.AgentID, h.Agent)
	case Ungrouped:
	}
	return ""
}

// Takes reports whether the filter selects an ask.
func (f *Filter) Takes(h Head) bool { return f.may(h) && f.selects(h) }

// may reports whether the viewer's rights take an ask in.
func (f *Filter) may(h Head) bool {
	return f.Viewer.Sees(h.Key, h.Audience) && (!f.Mine || f.Viewer.Mine(h)) && (!f.Team || f.Viewer.MayAnswer(h))
}

// selects reports whether the other fields select an ask.
func (f *Filter) selects(h Head) bool {
	if h.Priority == ask.PriorityUrgent && h.Deadline.Before(f.Pressing) {
		return true
	}
	if _, off := f.Without[h.Key]; off {
		return false
	}
	if _, on := f.Only[h.Key]; f.Only != nil && !on {
		return false
	}
	switch {
	case f.Tenant != "" && f.Tenant != h.Key.Tenant, f.Session != "" && f.Session != h.Key.Session,
		f.Agent != "" && f.Agent != h.Agent && f.Agent != h.AgentID, f.Source != "" && f.Source != h.Source, f.Priority != "" && f.Priority != h.Priority:
		return false
	}
	return h.Matches(f.Search)
}

// leastOfID is how much of an id a search must have: a short word is in many random ids, and nobody sees why.
const leastOfID = 4

// Matches reports whether an ask has all words of a search, ignoring case: in what a list shows of it, which are the
// heading, the agent, the source and the session; or as its tenant, its id, or the beginning or end of that.
func (h Head) Matches(search string) bool {
	if search == "" {
		return true
	}
	text := strings.ToLower(h.Heading + "\n" + h.Agent + "\n" + h.AgentID + "\n" + h.Source + "\n" + h.Key.Session)
	id, tenant := strings.ToLower(h.Key.ID), strings.ToLower(h.Key.Tenant)
	for word := range strings.FieldsSeq(strings.ToLower(search)) {
		ofID := word == id || len(word) >= leastOfID && (strings.HasPrefix(id, word) || strings.HasSuffix(id, word))
		if !strings.Contains(text, word) && !ofID && word != tenant && word != strings.ToLower(h.Key.String()) {
			return false
		}
	}
	return true
}

// narrows reports whether the filter leaves asks out for anything but the viewer's rights.
func (f *Filter) narrows() bool {
	return len(f.Without) > 0 || f.Only != nil || f.Tenant != "" || f.Session != "" || f.Agent != "" || f.Source != "" || f.Priority != "" || f.Search != ""
}

// plain reports whether the filter selects everything.
func (f *Filter) plain() bool { return !f.Mine && !f.Team && !f.narrows() && f.Viewer.everything() }

// picker is a filter for many heads. Nearly all of them have the viewer's rights in common with others: those are
// worked out once.
type picker struct {
	filter  *Filter
	all     bool // everything is selected
	narrows bool
	may     map[rights]bool
}

// rights is what decides whether a viewer may decide an ask that has no deciders and was not handed over. Equal
// pointers are equal lists.
type rights struct {
	place              string // tenant/session
	audience, excluded *[]string
	proof              uint8
}

func (f *Filter) picker() picker {
	return picker{f, f.plain(), f.narrows(), map[rights]bool{}}
}

func (p *picker) takes(h *head) bool {
	if p.all {
		return true
	}
	if h.deciders != nil || h.handed != nil {
		return p.filter.Takes(h.public())
	}
	at := rights{h.place(), h.audience, h.excluded, h.proof}
	may, known := p.may[at]
	if !known {
		may = p.filter.may(h.public())
		p.may[at] = may
	}
	return may && (!p.narrows || p.filter.selects(h.public()))
}

func (f *Filter) takes(h *head) bool { return f.plain() || f.Takes(h.public()) }

// Compare orders a queue: urgent asks first, then by earlier deadline, then by
// age.
func Compare(a, b Head) int {
	return cmp.Or(
		cmp.Compare(slices.Index(priorities[:], a.Priority), slices.Index(priorities[:], b.Priority)),
		a.Deadline.Compare(b.Deadline), a.AskedAt.Compare(b.AskedAt), strings.Compare(a.Key.String(), b.Key.String()))
}

// Arrange groups heads that are in queue order.
func (g Grouping) Arrange(heads []Head) {
	if g == Ungrouped {
		return
	}
	rank := map[string]int{}
	for i := range heads {
		if of := g.Of(heads[i]); rank[of] == 0 {
			rank[of] = len(rank) + 1
		}
	}
	sort.SliceStable(heads, func(i, j int) bool { return rank[g.Of(heads[i])] < rank[g.Of(heads[j])] })
}
