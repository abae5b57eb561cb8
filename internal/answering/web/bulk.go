package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// bulkPage lists the asks that can be declined together.
type bulkPage struct {
	Title  string
	Me     string
	For    string // the principal for whom it is drawn
	Query  string
	Back   string
	List   []entry
	More   int // asks that do not fit on this page
	Result []string
	Now    string
	Undo   int64 // how long declines are held, in ms
}

// bulk shows the asks of a listing that the person can decline together.
func (s *Server) bulk(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	s.drawBulk(w, r, me, http.StatusOK, nil)
}

func (s *Server) drawBulk(w http.ResponseWriter, r *http.Request, me board.Viewer, status int, result []string) {
	at, now := listingOf(r), s.opts.Now()
	f := at.filter(me, s.snoozed(r.Context(), me), now)
	f.Team, f.Pressing = !f.Mine, time.Time{} // leave out asks that only others may decide, and urgent asks outside the filter
	heads, total := s.board.Pending(f, 0, maxListed)
	p := bulkPage{Title: say(me, "Decline several"), Me: card.Name(me.By), For: me.By.Principal, Query: at.query(), Back: "/" + at.query(), More: total - len(heads), Result: result, Now: card.Moment{At: now}.Stamp(), Undo: s.opts.Undo.Milliseconds()}
	for i := range heads {
		p.List = append(p.List, entry{Row: card.NewRow(new(heads[i].Record()), viewer(me), now)})
	}
	s.render(w, status, "bulk", p)
}

// longAway is the snooze of asks that nobody waits for. Those that end earlier
// leave the snoozed list then; declined or answered asks do not return.
const longAway = 29 * 24 * time.Hour

// declineAll declines the chosen asks one after the other and reports those
// that it could not decline. With the other button it snoozes them for this
// person.
func (s *Server) declineAll(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	if err := r.ParseForm(); err != nil {
		s.badForm(w, me, err)
		return
	}
	if drawnForAnother(r, me) {
		s.drawBulk(w, r, me, http.StatusConflict, []string{somebodyElse(me)})
		return
	}
	chosen := r.PostForm["key"]
	if len(chosen) == 0 || len(chosen) > maxListed {
		s.drawBulk(w, r, me, http.StatusUnprocessableEntity, []string{say(me, "Nothing was done: choose 1 to %d asks.", maxListed)})
		return
	}
	reason := strings.TrimSpace(normalLines(r.PostForm.Get(fieldReason)))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 6*callTimeout)
	defer cancel()
	dismiss := r.PostForm.Get("do") == "dismiss"
	declined, late, failed, gone := 0, 0, 0, 0
	for _, text := range chosen {
		k, ok := ask.ParseKey(text)
		if !ok {
			failed++
			continue
		}
		if dismiss {
			if s.board.Snooze(ctx, me, k, s.opts.Now().Add(longAway)) == nil {
				gone++
			} else {
				late++ // it has ended, or is about to end
			}
			continue
		}
		held, err := s.record(ctx, me, k)
		if err != nil || held.State == ask.StatePending && !viewer(me).May(&held).Answer {
			failed++
			continue
		}
		one, done := context.WithTimeout(ctx, callTimeout)
		outcome, err := s.asks.Cancel(one, k, responder.Decline{Reason: reason, By: me.By})
		done()
		switch {
		case err == nil:
			declined++
			if rec, err := s.record(ctx, me, k); err == nil {
				s.settle(rec, outcome)
			}
		case errors.Is(err, ask.ErrResolved):
			late++
		default:
			failed++
		}
	}
	if dismiss {
		s.note(r, Event{Kind: EventDismissed, By: me.By, Known: true, Why: fmt.Sprintf("%d asks chosen, %d dismissed", len(chosen), gone)})
	} else {
		s.note(r, Event{Kind: EventDeclined, By: me.By, Known: true, Why: fmt.Sprintf("%d asks chosen, %d declined, %d had ended, %d failed", len(chosen), declined, late, failed)})
	}
	result := []string{say(me, "%d asks are declined.", declined)}
	if dismiss {
		result = []string{say(me, "%d are dismissed for you.", gone)}
	}
	if late > 0 {
		result = append(result, say(me, "%d had ended already.", late))
	}
	if failed > 0 {
		result = append(result, say(me, "%d could not be declined; try them again.", failed))
	}
	s.drawBulk(w, r, me, http.StatusOK, result)
}
