package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// maxOnPage is how many ended asks one page of the history shows.
const maxOnPage = 50

// sought is the filter of the history. It is part of the URL.
type sought struct {
	search string
	status ask.Status
	from   int
}

func soughtOf(r *http.Request) sought {
	q := r.URL.Query()
	f := sought{search: short(q.Get("q"))}
	if s := ask.Status(q.Get("status")); slices.Contains(statuses(), s) {
		f.status = s
	}
	if from, err := strconv.Atoi(q.Get("from")); err == nil && from > 0 {
		f.from = min(from, maxPast) / maxOnPage * maxOnPage
	}
	return f
}

func statuses() []ask.Status {
	return []ask.Status{ask.StatusAnswered, ask.StatusCancelled, ask.StatusWithdrawn, ask.StatusExpired, ask.StatusAborted}
}

func statusWords(me board.Viewer, s ask.Status) string {
	switch s {
	case ask.StatusAnswered:
		return say(me, "Answered")
	case ask.StatusCancelled:
		return say(me, "Declined")
	case ask.StatusWithdrawn:
		return say(me, "Withdrawn by the agent")
	case ask.StatusExpired:
		return say(me, "Expired")
	case ask.StatusAborted:
		return say(me, "Withdrawn by an operator")
	}
	return string(s)
}

func (f sought) query(path string, from int) string {
	q := url.Values{}
	for name, v := range map[string]string{"q": f.search, "status": string(f.status)} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if from > 0 {
		q.Set("from", strconv.Itoa(from))
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// takes reports whether an ask matches the status and all words.
func (f sought) takes(status ask.Status, text string) bool {
	if f.status != "" && f.status != status {
		return false
	}
	for word := range strings.FieldsSeq(strings.ToLower(f.search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// historyPage is the data of the history template.
type historyPage struct {
	Title    string
	Me       string
	Now      string
	Problem  string
	Search   string
	Statuses []pick
	Days     []day
	Pages    *pages
	JSON     string
	CSV      string
	Session  *ask.Key // of one conversation
	Turns    []exchange
	More     string
	Back     string
}

// day groups the asks that ended on one day.
type day struct {
	Words string
	Rows  []pastRow
}

// pastRow is one ended ask in a list.
type pastRow struct {
	Path, Heading, Summary, Where, Agent, Session, SessionPath string
	Status                                                     ask.Status
	Clock                                                      string
	Stamp                                                      string
	After                                                      string // how long it was pending
}

// showHistory lists ended asks, newest first.
func (s *Server) showHistory(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	f, now := soughtOf(r), s.opts.Now()
	if me.Zone != nil {
		now = now.In(me.Zone)
	}
	rows, whole := s.past.newest(r.Context(), s.board.Ended(board.Filter{Viewer: me}))
	rows = slices.DeleteFunc(rows, func(p *past) bool { return p.test || !me.Sees(p.key, p.named) || !f.takes(p.status, p.text) })
	p := historyPage{
		Title: say(me, "History"), Me: card.Name(me.By), Now: card.Moment{At: now}.Stamp(), Search: f.search,
		JSON: exportPath(f, "json"), CSV: exportPath(f, "csv"),
	}
	if !whole {
		p.Problem = say(me, "Older ones are still being read. Load this page again in a moment.")
	}
	p.Statuses = append(p.Statuses, pick{"", say(me, "Any outcome"), f.status == ""})
	for _, st := range statuses() {
		p.Statuses = append(p.Statuses, pick{string(st), statusWords(me, st), f.status == st})
	}
	total := len(rows)
	f.from = min(f.from, max(0, total-1)/maxOnPage*maxOnPage)
	rows = rows[f.from:min(total, f.from+maxOnPage)]
	for _, row := range rows {
		at := row.ended.In(now.Location())
		on := dayWords(me, at, now)
		if n := len(p.Days); n == 0 || p.Days[n-1].Words != on {
			p.Days = append(p.Days, day{Words: on})
		}
		d := &p.Days[len(p.Days)-1]
		d.Rows = append(d.Rows, row.row(me, at))
	}
	if len(rows) < total {
		p.Pages = &pages{First: f.from + 1, Last: f.from + len(rows), Total: total}
		if f.from > 0 {
			p.Pages.Previous = f.query("/history", f.from-maxOnPage)
		}
		if p.Pages.Last < total {
			p.Pages.Next = f.query("/history", f.from+maxOnPage)
		}
	}
	s.render(w, http.StatusOK, "history", p)
}

func dayWords(me board.Viewer, at, now time.Time) string {
	switch at.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return say(me, "Today")
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return say(me, "Yesterday")
	}
	return viewer(me).Day(at)
}

func (p *past) row(me board.Viewer, at time.Time) pastRow {
	end := p.ends[lang.Of(me.Language).Tag]
	r := pastRow{
		Path: askPath(p.key), Heading: p.heading, Summary: end.summary, Where: end.where, Agent: cmp.Or(p.agent, say(me, "an agent")), Session: p.key.Session,
		SessionPath: "/history/" + p.key.Tenant + "/" + p.key.Session, Status: p.status, Clock: at.Format("15:04"), Stamp: card.Moment{At: at}.Stamp(),
		After: viewer(me).When(p.asked, p.ended, card.Since).Words,
	}
	return r
}

// exchange is one ask and its outcome in a conversation.
type exchange struct {
	Path  string
	Asker card.Asker
	When  card.Moment
	End   *card.End
	After string
}

// conversation shows the asks and outcomes of one session, in the order of
// asking.
func (s *Server) conversation(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	k, now := ask.Key{Tenant: r.PathValue("tenant"), Session: r.PathValue("session")}, s.opts.Now()
	if !ask.ValidToken(k.Tenant) || !ask.ValidToken(k.Session) {
		s.notFound(w, me)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	page, err := s.asks.List(ctx, responder.Query{Tenant: k.Tenant, Session: k.Session, State: ask.StateResolved, PageSize: maxOnPage, Cursor: r.URL.Query().Get("cursor")})
	if err != nil {
		s.cannotRead(w, r, me, err)
		return
	}
	p := historyPage{Title: say(me, "Session %s", k.Session), Me: card.Name(me.By), Now: card.Moment{At: now}.Stamp(), Session: &k, Back: "/history"}
	for i := range page.Items {
		rec := &page.Items[i]
		if !me.Sees(rec.Ask.Key(), rec.Ask.Audience) {
			continue
		}
		view := card.New(rec, viewer(me), now)
		if view.End == nil {
			continue
		}
		p.Turns = append(p.Turns, exchange{
			Path: askPath(view.Key), Asker: view.Asker, When: viewer(me).When(rec.AskedAt, now, card.Clock),
			End: view.End, After: viewer(me).When(rec.AskedAt, rec.Outcome.At, card.Since).Words,
		})
	}
	if page.Next != "" {
		p.More = "/history/" + k.Tenant + "/" + k.Session + "?cursor=" + url.QueryEscape(page.Next)
	}
	s.render(w, http.StatusOK, "history", p)
}
