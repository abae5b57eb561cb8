package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// inbox shows the list and the ask that this person should decide first.
func (s *Server) inbox(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	at, ctx := listingOf(r), r.Context()
	t := board.Turn{}
	if ms, err := strconv.ParseInt(r.URL.Query().Get(fieldSince), 10, 64); err == nil && ms > 0 {
		t.Since = time.UnixMilli(ms)
	}
	open := s.open(r, me)
	focus, ok := s.board.Take(ctx, me, open, t)
	var record ask.Record
	var err error
	if ok {
		record, err = s.record(ctx, me, focus.Key)
	}
	var p page
	if ok && err == nil && record.State == ask.StatePending {
		p = s.newPage(ctx, me, &focus.Key, at)
		p.focus(s, s.newAsk(ctx, &record, me, typed{}, nil), &record, me)
		s.recall(p.Ask, &record, me) //nolint:contextcheck // pages share the read
	} else {
		p = s.newPage(ctx, me, nil, at)
		_, left := s.board.Pending(open, 0, 0)
		p.explainEmpty(s, me, ok, t.Since, left)
		if p.NoFocus == nil && !ok {
			p.Today, p.Setup = s.today(me), s.fromHere(r, me)
		}
		if err != nil && !errors.Is(err, ask.ErrNotFound) && p.Problem == "" {
			p.Problem = say(me, "The waiting asks cannot be read from the bus right now. Try again in a few seconds.")
		}
	}
	s.done(r, &p, me)
	s.write(w, http.StatusOK, p)
}

// today says what a person has decided today, as far as this inbox knows without reading the history: since when it says.
func (s *Server) today(me board.Viewer) string {
	now := s.opts.Now()
	if me.Zone != nil {
		now = now.In(me.Zone)
	}
	answered, declined, since := 0, 0, now
	rows, _ := s.past.known(s.board.Ended(board.Filter{Viewer: me}))
	for _, one := range rows {
		at := one.ended.In(now.Location())
		if one.by == nil || !me.Is(one.by.Principal) || at.YearDay() != now.YearDay() || at.Year() != now.Year() {
			continue
		}
		switch one.status {
		case ask.StatusAnswered:
			answered, since = answered+1, at // the newest comes first
		case ask.StatusCancelled:
			declined, since = declined+1, at
		case ask.StatusWithdrawn, ask.StatusExpired, ask.StatusAborted:
		}
	}
	from := viewer(me).When(since, now, card.Clock).Words
	switch {
	case answered+declined == 0:
		return ""
	case declined == 0:
		return say(me, "All clear. You have answered %d since %s.", answered, from)
	}
	return say(me, "All clear. You have answered %d and declined %d since %s.", answered, declined, from)
}

// done shows what this person has just decided.
func (s *Server) done(r *http.Request, p *page, me board.Viewer) {
	if k, ok := ask.ParseKey(r.URL.Query().Get(fieldDone)); ok {
		record, err := s.record(r.Context(), me, k)
		switch {
		case err != nil:
		case record.Outcome != nil:
			p.Done = card.NewEnd(&record, viewer(me), s.opts.Now())
		default:
			p.Moved = s.newMoved(me, &record, p)
		}
	}
}

// moved says to which list this person has just moved an ask, with a button that takes it back.
type moved struct {
	Me            string // the principal for whom it is drawn
	Heading, Path string
	Words         string
	Action        string // of the form
	Name, Value   string // its field
}

// newMoved returns nil if the ask is on no other list.
func (s *Server) newMoved(me board.Viewer, record *ask.Record, p *page) *moved {
	k := record.Ask.Key()
	m := &moved{Me: me.By.Principal, Heading: card.Heading(&record.Ask), Path: askPath(k) + p.Query}
	if until, is := p.off[k]; is {
		m.Words, m.Name, m.Value = viewer(me).Snoozed(until, s.opts.Now()), fieldFor, snoozeBack
		m.Action = askPath(k) + "/snooze" + p.Query
		return m
	}
	if h, _ := s.board.Head(k); h.Handed != nil {
		m.Words, m.Name, m.Value, m.Action = handedWords(h.Handed, me), fieldFrom, h.Handed.To, askPath(k)+"/handover"+p.Query
		return m
	}
	return nil
}

// show puts one ask in focus, whether it is pending or not.
func (s *Server) show(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	k := keyOf(r)
	record, err := s.record(r.Context(), me, k)
	if err != nil {
		s.cannotRead(w, r, me, err)
		return
	}
	if r.Header.Get("Sec-Fetch-Dest") == "document" && record.State == ask.StatePending {
		_ = s.board.Look(me, k, false) // scripts repeat it while the page is open
	}
	p := s.newPage(r.Context(), me, &k, listingOf(r))
	p.focus(s, s.newAsk(r.Context(), &record, me, typed{}, nil), &record, me)
	s.recall(p.Ask, &record, me) //nolint:contextcheck // pages share the read
	s.done(r, &p, me)
	s.write(w, http.StatusOK, p)
}

func (s *Server) cannotRead(w http.ResponseWriter, r *http.Request, me board.Viewer, err error) {
	if errors.Is(err, ask.ErrNotFound) {
		s.notFound(w, me)
		return
	}
	s.opts.Logger.WarnContext(r.Context(), "cannot read an ask", slog.Any("error", err))
	s.plain(w, http.StatusServiceUnavailable, plainPage{
		Me: card.Name(me.By), Title: say(me, "The bus cannot be reached"),
		Lines: []string{say(me, "This ask cannot be read at the moment. Try again in a few seconds.")}, Back: true,
	})
}

func (s *Server) notFound(w http.ResponseWriter, me board.Viewer) {
	s.plain(w, http.StatusNotFound, plainPage{
		Me: card.Name(me.By), Title: say(me, "There is no such ask"),
		Lines: []string{say(me, "The link is wrong, or the ask ended long ago and its record is gone.")}, Back: true,
	})
}

// noPage responds to a path that the inbox does not have.
func (s *Server) noPage(w http.ResponseWriter, me board.Viewer) {
	s.plain(w, http.StatusNotFound, plainPage{Me: card.Name(me.By), Title: say(me, "There is no such page"), Lines: []string{say(me, "The link is wrong.")}, Back: true})
}

// record reads an ask through the board, so that many open pages do not read
// the same ask repeatedly. An ask that the person may not see is not found.
func (s *Server) record(ctx context.Context, me board.Viewer, k ask.Key) (ask.Record, error) {
	if !k.Valid() {
		return ask.Record{}, ask.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	record, err := s.board.Recent(ctx, k, receiptAge)
	if err != nil {
		return ask.Record{}, fmt.Errorf("read ask %s: %w", k, err)
	}
	if !me.Sees(k, record.Ask.Audience) {
		return ask.Record{}, ask.ErrNotFound
	}
	return record, nil
}

// settle tells the board how an ask ended before the bus does, so that the next
// page shows it.
func (s *Server) settle(record ask.Record, o ask.Outcome) {
	record.State, record.Outcome = ask.StateResolved, &o
	s.board.Learn(record)
}

func keyOf(r *http.Request) ask.Key {
	return ask.Key{Tenant: r.PathValue("tenant"), Session: r.PathValue("session"), ID: r.PathValue("id")}
}

func (s *Server) write(w http.ResponseWriter, status int, p page) {
	p.Title = "askbus"
	if p.Waiting > 0 {
		p.Title = fmt.Sprintf("(%d) askbus", p.Waiting)
	}
	name := "page"
	if p.at.part {
		name = "part"
	}
	s.render(w, status, name, p)
}

// plainPage is a page with one message.
type plainPage struct {
	Me    string
	Title string
	Lines []string
	Back  bool
}

func (s *Server) plain(w http.ResponseWriter, status int, p plainPage) {
	s.render(w, status, "plain", p)
}

// command returns an askbus command with the flags that it needs for this
// inbox.
func (s *Server) command(name string) string {
	return strings.TrimSpace("askbus " + name + " " + s.opts.Flags)
}

// render executes the template completely before it sends the first byte, so
// that a page is never truncated by an error.
func (s *Server) render(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := s.pages[answeredIn(w).Tag].ExecuteTemplate(&out, name, data); err != nil {
		s.opts.Logger.Error("cannot draw a page", slog.Any("error", err))
		http.Error(w, "this page cannot be drawn; the details are in the inbox's log", http.StatusInternalServerError)
		return
	}
	h, body := w.Header(), out.Bytes()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if _, takes := w.(packing); takes && len(body) >= leastPacked {
		h.Set("Content-Encoding", "gzip")
		body = gzipped(body, gzip.DefaultCompression)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
