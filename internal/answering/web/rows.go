package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/waiting"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// frame is the page around the ask in focus: the list and the messages above
// and below it. It is drawn as a page or sent to one as changes.
type frame struct {
	Problem string // a sentence above everything, such as that the bus is unreachable
	Waiting int    // asks that this person may decide
	List    []entry
	Total   int    // of the listing, on all pages
	Pages   *pages // nil: the list has one page
	Ended   []*card.End
	Views   []view
	Query   string // of the shown page of the list, for links
	Mark    string // identifies this content

	at  listing
	off map[ask.Key]time.Time
}

// newFrame reads the board for a person. Without list it only counts. The rows of an earlier frame of the same view are
// made once; kept is nil for a single frame.
func (s *Server) newFrame(ctx context.Context, me board.Viewer, at listing, list bool, kept *keptRows) frame {
	now, off := s.opts.Now(), s.snoozed(ctx, me)
	f, most := at.filter(me, off, now), maxListed
	if !list {
		most = 0
	}
	heads, total := s.board.Pending(f, at.from, most)
	if list && len(heads) == 0 && total > 0 { // the asks of this page have ended
		at.from = (total - 1) / maxListed * maxListed
		heads, total = s.board.Pending(f, at.from, maxListed)
	}
	p := frame{at: at, off: off, Query: at.query(), Total: total, Waiting: total, Problem: s.problem(me)}
	if at.show != showMine || at.narrowed() {
		_, p.Waiting = s.board.Pending(listing{}.filter(me, off, now), 0, 0)
	}
	if !list {
		return p
	}
	p.List = make([]entry, 0, len(heads))
	group := ""
	for i := range heads {
		h := &heads[i]
		from := source{seq: h.Seq, life: h.Life, handed: h.Handed, off: off[h.Key], query: p.Query}
		if of := at.group.Of(*h); of != group {
			group, from.group = of, of
		}
		others := s.others(h.Key, me)
		from.others = strings.Join(others, "\n")
		p.List = append(p.List, kept.row(h.Key, from, now, func() entry { return s.newEntry(me, h, from, others, at, now) }))
	}
	kept.sweep(len(p.List))
	p.Pages, p.Views = at.pages(len(heads), total), s.views(me, at, len(off))
	for _, r := range s.board.Ended(board.Filter{Viewer: me}) {
		if len(p.Ended) < maxJustEnded && !waiting.IsTest(&r) && now.Sub(r.Outcome.At) < time.Hour {
			p.Ended = append(p.Ended, card.NewEnd(&r, viewer(me), now))
		}
	}
	p.Mark = p.mark()
	return p
}

// newEntry returns the row of an ask.
func (s *Server) newEntry(me board.Viewer, h *board.Head, from source, others []string, at listing, now time.Time) entry {
	e := entry{Row: card.NewRow(new(h.Record()), viewer(me), now), Path: askPath(h.Key) + from.query, Others: others}
	if from.group != "" {
		e.Group = e.Asker.Session
		if at.group == board.ByAgent {
			e.Group = e.Asker.Agent
		}
	}
	if h.Handed != nil && me.Is(h.Handed.To) {
		e.Handed = say(me, "handed to you")
	} else if h.Handed != nil {
		e.Handed = say(me, "handed to %s", h.Handed.Whom())
	}
	if !from.off.IsZero() {
		e.Off = new(viewer(me).When(from.off, now, card.Until))
	}
	e.Version = e.version(h.Life, me.Language)
	return e
}

// problem returns what the person must know about the bus.
func (s *Server) problem(me board.Viewer) string {
	switch status := s.board.Status(); {
	case status.Offline:
		return say(me, "The connection to the bus is gone. What you see may be old; answers cannot be stored until it is back.")
	case !status.Synced:
		return say(me, "Connecting to the bus. Waiting asks will appear here.")
	case status.More:
		return say(me, "More asks are waiting than this inbox follows at once.")
	}
	return ""
}

// digest returns a collision-resistant name of texts.
func digest(texts ...string) string {
	var b []byte
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// version names the content of an entry, without text that changes with time:
// the page updates that itself.
func (e *entry) version(life, language string) string {
	return digest(append([]string{
		language, e.Key.String(), life, e.Path, e.Group, e.Dir, e.Heading, e.Priority.Words, e.Asker.Agent, e.Asker.Session, e.Waits.Stamp(), e.Votes,
		stamp(e.Ends), stamp(e.Off), e.Handed, strconv.FormatBool(e.Foreign),
	}, e.Others...)...)
}

func stamp(m *card.Moment) string {
	if m == nil {
		return ""
	}
	return m.Stamp()
}

// mark names the content of a frame.
func (p *frame) mark() string {
	names := make([]string, 0, len(p.List)+len(parts()))
	for i := range p.List {
		names = append(names, p.List[i].Version)
	}
	for _, part := range parts() {
		names = append(names, part.version(p))
	}
	return digest(names...)
}

// part is an element of the frame beside the list: a template, and the name of
// its content.
type part struct {
	name    string
	version func(*frame) string
}

// parts returns the elements whose id in the page is their name.
func parts() []part {
	return []part{
		{"problem", func(p *frame) string { return p.Problem }},
		{"count", func(p *frame) string { return fmt.Sprint(p.Waiting) }},
		{"views", func(p *frame) string { return fmt.Sprint(p.Views) }},
		{"more", func(p *frame) string {
			if p.Pages == nil {
				return ""
			}
			return fmt.Sprint(*p.Pages)
		}},
		{"ended", func(p *frame) string {
			var all []string
			for _, e := range p.Ended {
				all = append(all, e.Key.String(), e.At.Stamp(), e.Heading, e.Summary, e.Who)
			}
			return fmt.Sprintf("%q", all)
		}},
	}
}

// put is one row that a page inserts into its list.
type put struct {
	Key   string `json:"key"`
	After string `json:"after,omitempty"` // key of the row above; empty: it is the first
	HTML  string `json:"html,omitempty"`  // empty: the page already has the row elsewhere
}

// delta is a change that is sent to a page.
type delta struct {
	All     bool              `json:"all,omitempty"` // rows is the whole list
	Gone    []string          `json:"gone,omitempty"`
	Rows    []put             `json:"rows,omitempty"`
	Parts   map[string]string `json:"parts,omitempty"`
	Waiting int               `json:"waiting"`
	Touched []string          `json:"touched,omitempty"` // keys of asks that were asked, changed or ended, listed or not
	Any     bool              `json:"any,omitempty"`     // others may have changed as well
}

// row is one row of the list that was last sent.
type row struct{ key, version string }

func rowsOf(list []entry) []row {
	rows := make([]row, len(list))
	for i := range list {
		rows[i] = row{list[i].Key.String(), list[i].Version}
	}
	return rows
}

// changes sets the rows that turn the list was into list. draw returns the HTML
// of an entry.
func (d *delta) changes(was []row, list []entry, draw func(*entry) string) {
	at := make(map[string]int, len(was))
	for i := range was {
		at[was[i].key] = i
	}
	places := make([]int, len(list)) // in was
	listed := make(map[string]bool, len(list))
	for i := range list {
		key := list[i].Key.String()
		listed[key] = true
		places[i] = -1
		if j, had := at[key]; had {
			places[i] = j
		}
	}
	for i := range was {
		if !listed[was[i].key] {
			d.Gone = append(d.Gone, was[i].key)
		}
	}
	stays, above := rising(places), ""
	for i := range list {
		e := &list[i]
		one := put{Key: e.Key.String(), After: above}
		above = one.Key
		same := places[i] >= 0 && was[places[i]].version == e.Version
		if same && stays[i] {
			continue
		}
		if !same {
			one.HTML = draw(e)
		}
		d.Rows = append(d.Rows, one)
	}
}

// rising finds a longest increasing subsequence of the non-negative places:
// rows that do not move.
func rising(places []int) (in []bool) {
	var ends []int                     // index of the smallest end of a sequence of each length
	before := make([]int, len(places)) // in the sequence, plus 1
	for i, p := range places {
		if p < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, p, func(j, p int) int { return places[j] - p })
		if n > 0 {
			before[i] = ends[n-1] + 1
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	in = make([]bool, len(places))
	if len(ends) > 0 {
		for i := ends[len(ends)-1] + 1; i > 0; i = before[i-1] {
			in[i-1] = true
		}
	}
	return in
}

// part executes the template of a page's part. An error is a programming error;
// the part is then empty.
func (s *Server) part(language, name string, data any) string {
	var out bytes.Buffer
	if err := s.pages[lang.Of(language).Tag].ExecuteTemplate(&out, name, data); err != nil {
		s.opts.Logger.Error("cannot draw a part of a page", slog.Any("error", err))
		return ""
	}
	return out.String()
}

// row returns the HTML of an entry. It is drawn once for all viewers who see the same.
func (s *Server) row(language string, e *entry) string {
	html, drawn := s.drawn.Get(e.Version)
	if !drawn {
		html = s.part(language, "entry", e)
		s.drawn.Add(e.Version, html)
	}
	return html
}
