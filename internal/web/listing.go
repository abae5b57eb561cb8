package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

const (
	maxJustEnded = 5   // asks that are listed that ended a short while ago
	maxSearch    = 200 // bytes of a search and of the names in a URL
	pressing     = 90 * time.Second
)

// Which asks a list shows.
const (
	showMine    = ""        // what this person may decide and was not handed to others
	showTeam    = "team"    // what this person may decide
	showAll     = "all"     // what this person may see
	showSnoozed = "snoozed" // what this person put off
)

// listing is which part of what waits the list shows. It stands in the URL of
// every page.
type listing struct {
	from     int // how many come before
	show     string
	search   string
	tenant   string
	session  string
	agent    string
	source   string
	priority ask.Priority
	group    responder.Grouping
	part     bool // only the ask in focus is wanted: the page has the list
}

// partHeader is what scripts send to get no more than the ask in focus.
const partHeader = "Askbus-Part"

// atHeader says which page of this inbox an answer to a form is, instead of a
// redirect there. It stands in responses to those who send partHeader.
const atHeader = "Askbus-At"

// listingOf reads a listing from a request. What it does not understand is
// left out.
func listingOf(r *http.Request) listing {
	q := r.URL.Query()
	from, err := strconv.Atoi(q.Get("from"))
	if err != nil || from < 0 {
		from = 0
	}
	l := listing{from: from / maxListed * maxListed, search: short(q.Get("q")), agent: short(q.Get("agent")), source: short(q.Get("source")), part: r.Header.Get(partHeader) == "card"}
	if s := q.Get("show"); s == showTeam || s == showAll || s == showSnoozed {
		l.show = s
	}
	for name, to := range map[string]*string{"tenant": &l.tenant, "session": &l.session} {
		if v := q.Get(name); ask.ValidToken(v) {
			*to = v
		}
	}
	if p := ask.Priority(q.Get("priority")); slices.Contains(priorities(), p) {
		l.priority = p
	}
	if g := responder.Grouping(q.Get("group")); g == responder.BySession || g == responder.ByAgent {
		l.group = g
	}
	return l
}

func priorities() []ask.Priority {
	return []ask.Priority{ask.PriorityUrgent, ask.PriorityHigh, ask.PriorityNormal, ask.PriorityLow}
}

func short(s string) string {
	s = strings.TrimSpace(ask.CleanLine(s))
	if len(s) > maxSearch {
		s = strings.ToValidUTF8(s[:maxSearch], "")
	}
	return s
}

// values is the listing as the fields of a form, from the top.
func (l listing) values() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{
		"show": l.show, "q": l.search, "tenant": l.tenant, "session": l.session, "agent": l.agent, "source": l.source, "priority": string(l.priority), "group": string(l.group),
	} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// query is the listing as the end of a URL.
func (l listing) query() string { return l.with(nil) }

// with is the listing and more as the end of a URL.
func (l listing) with(more url.Values) string {
	q := l.values()
	if l.from > 0 {
		q.Set("from", strconv.Itoa(l.from))
	}
	maps.Copy(q, more)
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// narrowed reports whether a part of what waits was chosen.
func (l listing) narrowed() bool {
	l.from, l.group, l.show, l.part = 0, "", "", false
	return l != listing{}
}

// clear is the URL of the view without what narrows it.
func (l listing) clear() string {
	l = listing{show: l.show}
	return "/" + l.query()
}

// filter is what the board is asked for. Off is what this person put off.
func (l listing) filter(me responder.Viewer, off map[ask.Key]time.Time, now time.Time) responder.Filter {
	f := responder.Filter{
		Viewer: me, Tenant: l.tenant, Session: l.session, Agent: l.agent, Source: l.source, Priority: l.priority, Search: l.search, Group: l.group, Without: off,
		Mine: l.show == showMine, Team: l.show == showTeam,
	}
	if l.show == showSnoozed {
		f.Without, f.Only = nil, off
		if off == nil {
			f.Only = map[ask.Key]time.Time{}
		}
		return f
	}
	f.Pressing = now.Add(pressing)
	return f
}

// pages says which part of a list is shown, and what is before and after.
type pages struct {
	First, Last, Total int
	Previous, Next     string // URLs; empty: there is none
}

func (l listing) pages(shown, total int) *pages {
	if shown >= total {
		return nil
	}
	p := &pages{First: l.from + 1, Last: l.from + shown, Total: total}
	if l.from > 0 {
		before := l
		before.from = max(0, l.from-maxListed)
		p.Previous = "/" + before.query()
	}
	if p.Last < total {
		after := l
		after.from += maxListed
		p.Next = "/" + after.query()
	}
	return p
}
