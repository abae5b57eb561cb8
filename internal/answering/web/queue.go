package web

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// Form fields of the queue, in addition to those of answers.
const (
	fieldDrawn = "drawn" // when the page was drawn, in Unix milliseconds
	fieldFor   = "for"   // duration of a snooze
	fieldTo    = "to"
	fieldFrom  = "from" // to whom the ask that is taken back was handed over
	fieldWord  = "word"
	fieldStay  = "stay"  // the ask that stays in focus
	fieldState = "state" // looking, answering or gone
	fieldSince = "since" // from the end of the list: only asks made after this time are offered
)

// turn is shown above the ask in focus: who else has it open, and the actions
// besides answering.
type turn struct {
	Path    string
	Me      string // the principal for whom it is drawn
	Query   string
	Others  []string // "Mei is answering"
	Handed  string   // "Handed to you by Mei: “you know the ledger”"
	Taken   string   // to whom it is handed over, as the form that takes it back names them
	Off     *card.Moment
	Snoozes []pick
	People  []pick
	May     bool
	// What was typed into a hand-over that was refused.
	To, Word string
}

// snoozeBack ends a snooze.
const snoozeBack = "back"

// newTurn returns the turn of a pending ask.
func (s *Server) newTurn(me board.Viewer, r *ask.Record, at listing, off map[ask.Key]time.Time) *turn {
	k, now := r.Ask.Key(), s.opts.Now()
	t := &turn{Path: askPath(k), Me: me.By.Principal, Query: at.with(url.Values{fieldDrawn: {strconv.FormatInt(now.UnixMilli(), 10)}}), May: viewer(me).May(r).Answer}
	t.Others = s.others(k, me)
	if until, is := off[k]; is {
		t.Off = new(viewer(me).When(until, now, card.Until))
	}
	left := 30 * 24 * time.Hour
	if !r.Ask.Deadline.IsZero() {
		left = r.Ask.Deadline.Sub(now) - 2*time.Minute
	}
	for _, z := range viewer(me).Snoozes(now) {
		if z.Until.Sub(now) < left {
			t.Snoozes = append(t.Snoozes, pick{Value: z.Name, Label: z.Words})
		}
	}
	if h, _ := s.board.Head(k); h.Handed != nil {
		t.Taken, t.Handed = h.Handed.To, handedWords(h.Handed, me)
	}
	t.People = s.known(me)
	for _, g := range me.By.Groups {
		t.People = append(t.People, pick{Value: "group:" + g, Label: say(me, "group %s", ask.CleanLine(g))})
	}
	return t
}

// known returns the other people whom this inbox has seen, to be suggested.
func (s *Server) known(me board.Viewer) (all []pick) {
	if me.Access != nil {
		return nil // other people may be of other tenants
	}
	for _, p := range s.board.People() {
		if p.Principal != me.By.Principal {
			all = append(all, pick{Value: p.Principal, Label: card.Name(p)})
		}
	}
	return all
}

func handedWords(h *board.Handover, me board.Viewer) string {
	return viewer(me).HandedOver(ask.By{Principal: h.To, Name: h.Whom()}, h.By, h.Word)
}

// others names the other people who have an ask open.
func (s *Server) others(k ask.Key, me board.Viewer) []string {
	var all []card.Attention
	for _, a := range s.board.Attending(k) {
		all = append(all, card.Attention{By: ask.By{Principal: a.Principal, Name: a.Name}, Answering: a.Answering})
	}
	return viewer(me).Others(all...)
}

// snoozed returns what this person snoozed, or nothing if that cannot be read.
func (s *Server) snoozed(ctx context.Context, me board.Viewer) map[ask.Key]time.Time {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	off, err := s.board.Snoozed(ctx, me)
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "cannot read the snoozed asks", slog.Any("error", err))
	}
	return off
}

// heldHeader is the request header with the keys of the asks whose answers the page holds, separated by spaces.
const heldHeader = "Askbus-Held"

// maxHeld bounds the keys that are read from it.
const maxHeld = 100

// open returns the filter of the asks that a page brings up for a person: those of its list, except those whose answers
// it holds.
func (s *Server) open(r *http.Request, me board.Viewer) board.Filter {
	f := listingOf(r).filter(me, s.snoozed(r.Context(), me), s.opts.Now())
	off, only := maps.Clone(f.Without), maps.Clone(f.Only)
	for _, k := range heldBy(r) {
		if only != nil {
			delete(only, k)
			continue
		}
		if off == nil {
			off = map[ask.Key]time.Time{}
		}
		off[k] = time.Time{}
	}
	f.Without, f.Only = off, only
	return f
}

// heldBy returns the asks whose answers the page of a request holds.
func heldBy(r *http.Request) (keys []ask.Key) {
	for text := range strings.FieldsSeq(r.Header.Get(heldHeader)) {
		if k, ok := ask.ParseKey(text); ok && len(keys) < maxHeld {
			keys = append(keys, k)
		}
	}
	return keys
}

// onward chooses the page after an ask that leaves this person's list. Undo
// releases the next ask to the others.
func (s *Server) onward(r *http.Request, me board.Viewer, k ask.Key) (to string, undo func()) {
	at, now := listingOf(r), s.opts.Now()
	f := s.open(r, me)
	t := board.Turn{After: k}
	if ms, err := strconv.ParseInt(r.URL.Query().Get(fieldDrawn), 10, 64); err == nil {
		t.Since = time.UnixMilli(ms)
	}
	if h, ok := s.board.Take(r.Context(), me, f, t); ok {
		return askPath(h.Key) + at.with(url.Values{fieldDone: {k.String()}}), func() { _ = s.board.Leave(me, h.Key) }
	}
	more := url.Values{fieldDone: {k.String()}}
	if _, total := s.board.Pending(f, 0, 1); total > 1 {
		more.Set(fieldSince, strconv.FormatInt(now.UnixMilli(), 10))
	}
	return "/" + at.with(more), func() {}
}

// snooze snoozes an ask for this person, or ends the snooze.
func (s *Server) snooze(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	s.move(w, r, me, func(ctx context.Context, k ask.Key) error {
		all := append(viewer(me).Snoozes(s.opts.Now()), card.Snooze{Name: snoozeBack})
		at := slices.IndexFunc(all, func(z card.Snooze) bool { return z.Name == r.PostForm.Get(fieldFor) })
		if at < 0 {
			return ask.InvalidError("snooze", []ask.Fault{ask.NewFault("/for", ask.FaultBadTime, ask.Clip(r.PostForm.Get(fieldFor), 80))})
		}
		return s.board.Snooze(ctx, me, k, all[at].Until)
	})
}

// handOver hands an ask to another person, or takes it back.
func (s *Server) handOver(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	s.move(w, r, me, func(ctx context.Context, k ask.Key) error {
		if r.PostForm.Has(fieldFrom) {
			return s.board.TakeBack(ctx, me, k, r.PostForm.Get(fieldFrom))
		}
		return s.board.HandOver(ctx, me, k, r.PostForm.Get(fieldTo), r.PostForm.Get(fieldWord))
	})
}

// move carries out an action that moves an ask to another list, and continues
// with the next ask.
func (s *Server) move(w http.ResponseWriter, r *http.Request, me board.Viewer, do func(context.Context, ask.Key) error) {
	if err := r.ParseForm(); err != nil {
		s.badForm(w, me, err)
		return
	}
	k := keyOf(r)
	record, err := s.record(r.Context(), me, k)
	if err != nil {
		s.cannotRead(w, r, me, err)
		return
	}
	if drawnForAnother(r, me) {
		s.again(r.Context(), w, r, me, &record, http.StatusConflict, somebodyElse(me))
		return
	}
	if record.State == ask.StateResolved {
		s.goOn(w, r, me, askPath(k)+listingOf(r).query())
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	to, undo := "", func() {}
	if at, ok := ask.ParseKey(r.PostForm.Get(fieldStay)); ok && at != k {
		to = askPath(at) + listingOf(r).with(url.Values{fieldDone: {k.String()}})
	} else {
		to, undo = s.onward(r, me, k)
	}
	if err := do(ctx, k); err != nil {
		undo()
		status, problem := http.StatusServiceUnavailable, say(me, "This could not be stored just now. Try again.")
		switch e := wire.AsError(err); {
		case errors.Is(err, ask.ErrInvalid), errors.Is(err, ask.ErrForbidden), errors.Is(err, ask.ErrQuota), errors.Is(err, ask.ErrTooLarge), errors.Is(err, ask.ErrConflict):
			status, problem = http.StatusForbidden, viewer(me).NotMoved(e, r.PostForm.Get(fieldTo))
			if errors.Is(err, ask.ErrInvalid) {
				status = http.StatusUnprocessableEntity
			}
		case errors.Is(err, ask.ErrNotFound):
			s.notFound(w, me)
			return
		default:
			s.opts.Logger.WarnContext(r.Context(), "cannot snooze or hand over an ask", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
		p := s.newPage(r.Context(), me, &k, listingOf(r))
		p.focus(s, s.newAsk(r.Context(), &record, me, typed{}, nil), &record, me)
		if p.Ask.Problem = problem; p.Turn != nil {
			p.Turn.To, p.Turn.Word = r.PostForm.Get(fieldTo), r.PostForm.Get(fieldWord)
		}
		s.write(w, status, p)
		return
	}
	if back := r.PostForm.Get(fieldFor) == snoozeBack || r.PostForm.Has(fieldFrom); back {
		undo() // it stays in focus
		s.goOn(w, r, me, askPath(k)+listingOf(r).query())
		return
	}
	_ = s.board.Leave(me, k) // otherwise it expires by itself
	s.goOn(w, r, me, to)
}

// attend records that a person has an ask open. The page repeats it every 10 s.
func (s *Server) attend(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	k := keyOf(r)
	if drawnForAnother(r, me) {
		w.WriteHeader(http.StatusNoContent) // nobody is told of who has left
		return
	}
	var err error
	switch state := r.FormValue(fieldState); state {
	case "gone":
		err = s.board.Leave(me, k)
	case "looking", "answering":
		if _, err = s.record(r.Context(), me, k); errors.Is(err, ask.ErrNotFound) {
			s.notFound(w, me)
			return
		}
		err = s.board.Look(me, k, state == "answering")
	default:
		http.Error(w, `state: say "looking", "answering" or "gone"`, http.StatusBadRequest)
		return
	}
	if err != nil {
		http.Error(w, "cannot tell the other viewers", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
