package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// inbox shows the oldest ask that this person may decide, and the list.
func (s *Server) inbox(w http.ResponseWriter, r *http.Request, me ask.By) {
	p, snap := s.newPage(me, nil)
	focus := -1
	for i := range snap.pending {
		if focus < 0 || !snap.pending[focus].Ask.Allows(me) {
			if focus < 0 || snap.pending[i].Ask.Allows(me) {
				focus = i
			}
		}
	}
	if focus >= 0 {
		record := snap.pending[focus]
		if read, err := s.record(r.Context(), record.Ask.Key()); err == nil && read.State == ask.StatePending {
			record = read
		}
		k := record.Ask.Key()
		p, _ = s.newPage(me, &k)
		p.Ask = s.newAsk(&record, me, typed{}, nil)
		s.recall(r.Context(), p.Ask, &record, me)
	}
	if k, ok := parseKey(r.URL.Query().Get("done")); ok {
		if record, err := s.record(r.Context(), k); err == nil && record.Outcome != nil {
			f := folded(&record, me, s.opts.Now())
			p.Done = &f
		}
	}
	s.write(w, http.StatusOK, p)
}

// show puts one ask in focus, pending or not.
func (s *Server) show(w http.ResponseWriter, r *http.Request, me ask.By) {
	k := keyOf(r)
	record, err := s.record(r.Context(), k)
	if err != nil {
		s.cannotRead(w, r, me, err)
		return
	}
	p, _ := s.newPage(me, &k)
	p.Ask = s.newAsk(&record, me, typed{}, nil)
	s.recall(r.Context(), p.Ask, &record, me)
	s.write(w, http.StatusOK, p)
}

func (s *Server) cannotRead(w http.ResponseWriter, r *http.Request, me ask.By, err error) {
	if errors.Is(err, ask.ErrNotFound) {
		s.notFound(w, me)
		return
	}
	s.opts.Logger.WarnContext(r.Context(), "cannot read an ask", slog.Any("error", err))
	s.plain(w, http.StatusServiceUnavailable, plainPage{
		Me: who(&me, ask.By{}), Title: "The bus cannot be reached",
		Lines: []string{"This ask cannot be read at the moment. Try again in a few seconds."}, Back: true,
	})
}

func (s *Server) notFound(w http.ResponseWriter, me ask.By) {
	s.plain(w, http.StatusNotFound, plainPage{
		Me: who(&me, ask.By{}), Title: "There is no such ask",
		Lines: []string{"The link is wrong, or the ask ended long ago and its record is gone."}, Back: true,
	})
}

// record reads an ask: from the board while that is fresh enough, else from
// the bus, so that many open pages do not read the same ask again and again.
func (s *Server) record(ctx context.Context, k ask.Key) (ask.Record, error) {
	if !k.Valid() {
		return ask.Record{}, ask.ErrNotFound
	}
	now := s.opts.Now()
	held, fresh := s.board.fresh(k, now.Add(-5*time.Second))
	if fresh {
		return held, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	record, err := s.asks.Get(ctx, k)
	switch {
	case err == nil:
		record.Ask.Tenant, record.Ask.Session, record.Ask.ID = k.Tenant, k.Session, k.ID
		if record.AskedAt.IsZero() {
			record.AskedAt = held.AskedAt
		}
		s.board.keep(k, record, now)
		return record, nil
	case held.State == ask.StatePending && !errors.Is(err, ask.ErrNotFound):
		return held, nil // better what we knew than nothing
	default:
		return ask.Record{}, fmt.Errorf("read ask %s: %w", k, err)
	}
}

func keyOf(r *http.Request) ask.Key {
	return ask.Key{Tenant: r.PathValue("tenant"), Session: r.PathValue("session"), ID: r.PathValue("id")}
}

func (s *Server) write(w http.ResponseWriter, status int, p page) {
	p.Title = "askbus"
	if p.Waiting > 0 {
		p.Title = fmt.Sprintf("(%d) askbus", p.Waiting)
	}
	s.render(w, status, "page", p)
}

// plainPage says one thing.
type plainPage struct {
	Me      string
	Title   string
	Lines   []string
	Command string
	Back    bool
}

func (s *Server) plain(w http.ResponseWriter, status int, p plainPage) {
	s.render(w, status, "plain", p)
}

func (s *Server) signIn(w http.ResponseWriter, problem string) {
	p := plainPage{Title: "Sign in", Command: "askbus login"}
	if problem != "" {
		p.Lines = append(p.Lines, problem)
	}
	p.Lines = append(p.Lines, "Run this where askbus runs, and open the link that it prints. The link is good for ten minutes, once.")
	s.plain(w, http.StatusUnauthorized, p)
}

// render draws a whole page before it sends the first byte, so that a page is
// never half there.
func (s *Server) render(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := s.pages.ExecuteTemplate(&out, name, data); err != nil {
		s.opts.Logger.Error("cannot draw a page", slog.Any("error", err))
		http.Error(w, "this page cannot be drawn; the details are in the inbox's log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w)
}
