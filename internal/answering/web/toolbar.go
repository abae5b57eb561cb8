package web

import (
	"maps"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// toolbar holds the views of a list and the fields of its filter.
type toolbar struct {
	Views   []view
	Open    bool // a field is in use
	Search  string
	Show    string
	Clear   string // URL of the view without filters
	Bulk    string // URL where the listed asks can be declined together
	Choices []choice
}

// view is one of the lists that a person can open.
type view struct {
	Words   string
	Path    string
	Count   int
	Current bool
}

// choice is one field of the filter.
type choice struct {
	Name, Label string
	Options     []pick
}

type pick struct {
	Value, Label string
	Chosen       bool
}

// maxPicks bounds the names that one field offers.
const maxPicks = 50

// views returns the views and the number of asks in those that count.
func (s *Server) views(me board.Viewer, at listing, off int) (all []view) {
	for _, v := range []struct{ show, words string }{
		{showMine, say(me, "Mine")}, {showTeam, say(me, "Team")}, {showAll, say(me, "All")}, {showSnoozed, say(me, "Snoozed")},
	} {
		to := at
		to.show, to.from = v.show, 0
		one := view{Words: v.words, Path: "/" + to.query(), Current: at.show == v.show}
		if v.show == showSnoozed {
			one.Count = off
		}
		all = append(all, one)
	}
	return all
}

// newToolbar collects the names in the listed asks.
func (s *Server) newToolbar(me board.Viewer, at listing, views []view) toolbar {
	t := toolbar{Search: at.search, Show: at.show, Open: at.narrowed() || at.group != "", Views: views, Clear: at.clear(), Bulk: "/bulk" + at.query()}
	tenants, sessions, agents, sources := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	heads, _ := s.board.Pending(board.Filter{Viewer: me}, 0, maxNamed)
	for i := range heads {
		h := &heads[i]
		tenants[h.Key.Tenant], sessions[h.Key.Session] = true, true
		if name := ask.CleanLine(h.Agent); name != "" {
			agents[name] = true
		}
		if h.Source != "" {
			sources[h.Source] = true
		}
	}
	if len(tenants) > 1 || at.tenant != "" {
		t.field("tenant", say(me, "Tenant"), say(me, "every tenant"), at.tenant, tenants)
	}
	t.field("session", say(me, "Session"), say(me, "every session"), at.session, sessions)
	t.field("agent", say(me, "Agent"), say(me, "every agent"), at.agent, agents)
	if len(sources) > 0 || at.source != "" {
		t.field("source", say(me, "Repository"), say(me, "every repository"), at.source, sources)
	}
	t.Choices = append(t.Choices,
		choice{"priority", say(me, "Priority"), []pick{
			{"", say(me, "every priority"), at.priority == ""},
			{"urgent", say(me, "urgent"), at.priority == ask.PriorityUrgent},
			{"high", say(me, "high"), at.priority == ask.PriorityHigh},
			{"normal", say(me, "normal"), at.priority == ask.PriorityNormal},
			{"low", say(me, "low"), at.priority == ask.PriorityLow},
		}},
		choice{"group", say(me, "Group by"), []pick{
			{"", say(me, "no groups"), at.group == ""}, {"session", say(me, "session"), at.group == board.BySession}, {"agent", say(me, "agent"), at.group == board.ByAgent},
		}})
	return t
}

// maxNamed is how many pending asks are searched for names.
const maxNamed = 1000

func (t *toolbar) field(name, label, every, now string, names map[string]bool) {
	c := choice{name, label, []pick{{"", every, now == ""}}}
	if now != "" {
		names[now] = true
	}
	for _, v := range slices.Sorted(maps.Keys(names)) {
		if len(c.Options) <= maxPicks || v == now {
			c.Options = append(c.Options, pick{v, v, v == now})
		}
	}
	t.Choices = append(t.Choices, c)
}
