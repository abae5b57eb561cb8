package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/answering/waiting"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// mostLines bounds each list of the page about waiting.
const mostLines = 20

// waitingPage is the page about what waiting for people costs.
type waitingPage struct {
	Me, Now, Problem string
	Periods          []periodView
	Blocked, Pending int
	Longest          string
	Waited, Median   string
	Asked, Answered  int
	Noisiest         string
	People           []costLine
	Agents, Teams    []costLine
}

// periodView is a link to the figures of a period.
type periodView struct {
	Words, Path string
	Current     bool
}

// costLine is a row: what waiting costs for one person, agent or team.
type costLine struct {
	Name            string
	Asked, Answered int
	Median, Waited  string // "–" without an answer
}

// showWaiting shows who waits now, and what waiting has cost. It counts the asks that the
// person may see.
func (s *Server) showWaiting(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	now := s.opts.Now()
	if me.Zone != nil {
		now = now.In(me.Zone)
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	from, week := midnight, r.URL.Query().Get("period") == "week"
	if week {
		from = midnight.AddDate(0, 0, -6)
	}
	c := waiting.NewCounter(from, now)
	heads, _ := s.board.Pending(board.Filter{Viewer: me}, 0, maxPast)
	for i := range heads {
		record := heads[i].Record()
		c.Add(&record)
	}
	rows, whole := s.past.newest(r.Context(), s.board.Ended(board.Filter{Viewer: me}))
	for _, one := range rows {
		if !one.test && me.Sees(one.key, one.named) {
			record := one.record()
			c.Add(&record)
		}
	}
	stats := c.Stats()
	p := waitingPage{
		Me: card.Name(me.By), Now: card.Moment{At: now}.Stamp(), Problem: s.problem(me),
		Periods: []periodView{{say(me, "Today"), "/waiting", !week}, {say(me, "Last 7 days"), "/waiting?period=week", week}},
		Blocked: stats.BlockedAgents, Pending: stats.PendingAsks, Asked: stats.Asked, Answered: stats.Answered,
		Longest: spanOf(me, stats.LongestWait), Waited: waitedOf(me, stats.Waited), Median: spanOf(me, stats.Median),
		People: costs(me, stats.People), Agents: costs(me, stats.Agents), Teams: costs(me, stats.Teams),
	}
	if stats.Answered == 0 {
		p.Median = "–"
	}
	if noisy := waiting.Noisiest(stats.Agents); noisy.Asked > 0 {
		p.Noisiest = say(me, "%s asked most.", ask.CleanLine(noisy.Name))
	}
	if !whole && p.Problem == "" {
		p.Problem = say(me, "The history is still being read. These figures are not complete.")
	}
	s.render(w, http.StatusOK, "waiting", p)
}

// record returns what the figures need of an ended ask.
func (p *past) record() ask.Record {
	o := &ask.Outcome{Status: p.status, At: p.ended, Waited: p.ended.Sub(p.asked), By: p.by}
	if p.human {
		o.Source = ask.SourceHuman
	}
	return ask.Record{State: ask.StateResolved, AskedAt: p.asked, Ask: ask.Ask{Session: p.key.Session, Agent: ask.Agent{Name: p.agent}, Audience: p.named}, Outcome: o}
}

func costs(me board.Viewer, lines []waiting.Line) []costLine {
	lines = lines[:min(len(lines), mostLines)]
	all := make([]costLine, len(lines))
	for i, l := range lines {
		all[i] = costLine{ask.CleanLine(l.Name), l.Asked, l.Answered, "–", spanOf(me, l.Waited)}
		if l.Name == waiting.Everybody {
			all[i].Name = say(me, "everybody")
		}
		if l.Answered > 0 {
			all[i].Median = spanOf(me, l.Median)
		}
	}
	return all
}

// spanOf formats a duration in its largest unit.
func spanOf(me board.Viewer, d waiting.Seconds) string {
	var began time.Time
	return viewer(me).When(began, began.Add(time.Duration(d)), card.Since).Words
}

// waitedOf formats the time that all agents waited, of which a tenth of an hour is little.
func waitedOf(me board.Viewer, d waiting.Seconds) string {
	if time.Duration(d) < time.Hour {
		return spanOf(me, d)
	}
	return say(me, "%s h", strconv.FormatFloat(time.Duration(d).Hours(), 'f', 1, 64))
}
