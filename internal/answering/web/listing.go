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
	"github.com/askbus/askbus/pkg/board"
)

const (
	maxJustEnded = 5   // recently ended asks that are listed
	maxSearch    = 200 // bytes of a search and of each name in a URL
	pressing     = 90 * time.Second
)

// Which asks a listing shows.
const (
	showMine    = ""        // asks that this person may decide and that are not handed to others
	showTeam    = "team"    // asks that this person may decide
	showAll     = "all"     // asks that this person may see
	showSnoozed = "snoozed" // asks that this person snoozed
)

// listing is the view and filter of the list. It is part of every page's URL.
type listing struct {
	from     int // asks on earlier pages
	show     string
	search   string
	tenant   string
	session  string
	agent    string
	source   string
	priority ask.Priority
	group    board.Grouping
	part     bool // only the ask in focus is needed: the page already has the list
}

// partHeader is the request header with which scripts ask for the ask in focus
// alone.
const partHeader = "Askbus-Part"

// atHeader is the response header with the path that a form leads to. It
// replaces the redirect for requests with partHeader.
const atHeader = "Askbus-At"

// listingOf reads a listing from a request. It ignores what it cannot parse.
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
	if g := board.Grouping(q.Get("group")); g == board.BySession || g == board.ByAgent {
		l.group = g
	}
	return l
}

func priorities() []ask.Priority {
	return []ask.Priority{ask.PriorityUrgent, ask.PriorityHigh, ask.PriorityNormal, ask.PriorityLow}
}

func short(s string) string {
	s = ask.CleanLine(s)
	if len(s) > maxSearch {
		s = strings.ToValidUTF8(s[:maxSearch], "")
	}
	return s
}

// values returns the listing as form fields, without the position in the list.
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

// query returns the listing as a URL query.
func (l listing) query() string { return l.with(nil) }

// with returns the listing and further values as a URL query.
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

// narrowed reports whether the listing has a filter.
func (l listing) narrowed() bool {
	l.from, l.group, l.show, l.part = 0, "", "", false
	return l != listing{}
}

// clear returns the URL of the view without filters.
func (l listing) clear() string {
	l = listing{show: l.show}
	return "/" + l.query()
}

// filter returns the listing as the board's filter. Off holds what this person
// snoozed.
func (l listing) filter(me board.Viewer, off map[ask.Key]time.Time, now time.Time) board.Filter {
	f := board.Filter{
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

// pages describes the current page of a list, with links to its neighbours.
type pages struct {
	First, Last, Total int
	Previous, Next     string // URLs; empty at the ends
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
