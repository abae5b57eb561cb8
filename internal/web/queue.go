package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Fields of forms about the queue, beside those of answers.
const (
	fieldDrawn = "drawn" // when the page was drawn, in Unix milliseconds
	fieldFor   = "for"   // how long an ask is put off
	fieldZone  = "zone"  // of the browser
	fieldTo    = "to"
	fieldWord  = "word"
	fieldState = "state" // looking, answering or gone
	fieldSince = "since" // from the end of the list: only what is asked after it comes up
)

// turn is what stands above the ask in focus: who else is there, and what can
// be done with it but decide it.
type turn struct {
	Path    string
	Query   string
	Others  []string // "Mei is answering"
	Handed  string   // "Handed to you by Mei: “you know the ledger”"
	Taken   bool     // it was handed to somebody
	Off     *present.Moment
	Snoozes []pick
	People  []pick
	May     bool
}

// snoozesFor are the times a person may choose, from now on.
func snoozesFor(me responder.Viewer, now time.Time, left time.Duration) []pick {
	all := []pick{{Value: "15m", Label: say(me, "15 minutes")}, {Value: "1h", Label: say(me, "1 hour")}, {Value: "4h", Label: say(me, "4 hours")}, {Value: "tomorrow", Label: say(me, "tomorrow, 9:00")}, {Value: "monday", Label: say(me, "Monday, 9:00")}}
	var fit []pick
	for _, p := range all {
		if until, ok := snoozeUntil(p.Value, now); ok && until.Sub(now) < left {
			fit = append(fit, p)
		}
	}
	return fit
}

// snoozeUntil is when a choice is over. "back" is the zero time.
func snoozeUntil(choice string, now time.Time) (time.Time, bool) {
	morning := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, 9, 0, 0, 0, now.Location())
	}
	switch choice {
	case "back":
		return time.Time{}, true
	case "15m", "1h", "4h":
		d, err := time.ParseDuration(choice)
		return now.Add(d), err == nil
	case "tomorrow":
		return morning(1), true
	case "monday":
		return morning((14-int(now.Weekday()))%7 + 1), true
	}
	return time.Time{}, false
}

// newTurn draws what stands above a pending ask.
func (s *Server) newTurn(me responder.Viewer, r *ask.Record, at listing, off map[ask.Key]time.Time) *turn {
	k, now := r.Ask.Key(), s.opts.Now()
	t := &turn{Path: askPath(k), Query: at.with(url.Values{fieldDrawn: {strconv.FormatInt(now.UnixMilli(), 10)}}), May: viewer(me).May(r).Answer}
	t.Others = s.others(k, me)
	if until, is := off[k]; is {
		m := viewer(me).When(until, now, present.Until)
		t.Off = &m
	}
	left := 30 * 24 * time.Hour
	if !r.Ask.Deadline.IsZero() {
		left = r.Ask.Deadline.Sub(now) - 2*time.Minute
	}
	t.Snoozes = snoozesFor(me, now, left)
	if h := s.head(k); h != nil && h.Handed != nil {
		t.Taken, t.Handed = true, handedWords(h.Handed, me)
	}
	for _, p := range s.board.People() {
		if me.Access == nil && p.Principal != me.By.Principal { // they may be of other tenants
			t.People = append(t.People, pick{Value: p.Principal, Label: present.Name(p)})
		}
	}
	for _, g := range me.By.Groups {
		t.People = append(t.People, pick{Value: "group:" + g, Label: say(me, "group %s", ask.CleanLine(g))})
	}
	return t
}

// head is the head of a pending ask, or nil.
func (s *Server) head(k ask.Key) *responder.Head {
	heads, _ := s.board.Pending(responder.Filter{Tenant: k.Tenant, Session: k.Session, Search: k.ID}, 0, maxListed)
	for i := range heads {
		if heads[i].Key == k {
			return &heads[i]
		}
	}
	return nil
}

func handedWords(h *responder.Handover, me responder.Viewer) string {
	you := say(me, "you")
	to, by := you, you
	if h.To != me.By.Principal {
		to = h.Whom()
	}
	if h.By.Principal != me.By.Principal {
		by = present.Name(h.By)
	}
	if h.Word != "" {
		return say(me, "Handed to %[1]s by %[2]s: “%[3]s”", to, by, h.Word)
	}
	return say(me, "Handed to %[1]s by %[2]s", to, by)
}

// others says who else is at an ask.
func (s *Server) others(k ask.Key, me responder.Viewer) []string {
	var all []present.Attention
	for _, a := range s.board.Attending(k) {
		all = append(all, present.Attention{By: ask.By{Principal: a.Principal, Name: a.Name}, Answering: a.Answering})
	}
	return viewer(me).Others(all...)
}

// snoozed is what this person put off. When that cannot be read, nothing is.
func (s *Server) snoozed(ctx context.Context, me responder.Viewer) map[ask.Key]time.Time {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	off, err := s.board.Snoozed(ctx, me)
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "cannot read what is put off", slog.Any("error", err))
	}
	return off
}

// onward chooses what comes after an ask that is about to leave this person's
// list. Undo gives it back to the others.
func (s *Server) onward(r *http.Request, me responder.Viewer, k ask.Key) (to string, undo func()) {
	at, now := listingOf(r), s.opts.Now()
	f := at.filter(me, s.snoozed(r.Context(), me), now)
	t := responder.Turn{After: k}
	if ms, err := strconv.ParseInt(r.URL.Query().Get(fieldDrawn), 10, 64); err == nil {
		t.Since = time.UnixMilli(ms)
	}
	v := me
	if h, ok := s.board.Take(r.Context(), v, f, t); ok {
		return askPath(h.Key) + at.with(url.Values{fieldDone: {k.String()}}), func() { _ = s.board.Leave(v, h.Key) }
	}
	more := url.Values{fieldDone: {k.String()}}
	if _, total := s.board.Pending(f, 0, 1); total > 1 {
		more.Set(fieldSince, strconv.FormatInt(now.UnixMilli(), 10))
	}
	return "/" + at.with(more), func() {}
}

// snooze puts an ask off for this person, or takes it back.
func (s *Server) snooze(w http.ResponseWriter, r *http.Request, me responder.Viewer) {
	s.move(w, r, me, func(ctx context.Context, k ask.Key) error {
		now := s.opts.Now()
		if zone, err := time.LoadLocation(r.PostForm.Get(fieldZone)); err == nil && r.PostForm.Get(fieldZone) != "" {
			now = now.In(zone)
		}
		until, ok := snoozeUntil(r.PostForm.Get(fieldFor), now)
		if !ok {
			return ask.InvalidError("snooze", []ask.Fault{{Pointer: "/for", Message: "is not a time to choose"}})
		}
		return s.board.Snooze(ctx, me, k, until)
	})
}

// handOver gives an ask to somebody else.
func (s *Server) handOver(w http.ResponseWriter, r *http.Request, me responder.Viewer) {
	s.move(w, r, me, func(ctx context.Context, k ask.Key) error {
		return s.board.HandOver(ctx, me, k, r.PostForm.Get(fieldTo), r.PostForm.Get(fieldWord))
	})
}

// move does something with an ask that changes whose list it is on, and goes on
// to the next one.
func (s *Server) move(w http.ResponseWriter, r *http.Request, me responder.Viewer, do func(context.Context, ask.Key) error) {
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
	if record.State == ask.StateResolved {
		s.goOn(w, r, me, askPath(k)+listingOf(r).query())
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	to, undo := s.onward(r, me, k)
	if err := do(ctx, k); err != nil {
		undo()
		status, problem := http.StatusServiceUnavailable, say(me, "This could not be stored just now. Try again.")
		e, _ := errors.AsType[*ask.Error](err)
		switch {
		case errors.Is(err, ask.ErrInvalid) && e != nil && len(e.Faults) > 0:
			status, problem = http.StatusUnprocessableEntity, faultWords(me, e.Faults[0])
		case errors.Is(err, ask.ErrForbidden), errors.Is(err, ask.ErrQuota):
			status, problem = http.StatusForbidden, say(me, "Not done: %s.", e.Detail)
		case errors.Is(err, ask.ErrNotFound):
			s.notFound(w, me)
			return
		default:
			s.opts.Logger.WarnContext(r.Context(), "what a person did with an ask was not stored", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
		s.again(r.Context(), w, r, me, &record, status, problem)
		return
	}
	_ = s.board.Leave(me, k) // the others forget it by themselves
	s.goOn(w, r, me, to)
}

// faultWords is a fault of the forms above as a sentence.
func faultWords(me responder.Viewer, f ask.Fault) string {
	switch f.Pointer {
	case "/to":
		return say(me, "Not handed over: “to” %s.", f.Message)
	case "/word":
		return say(me, "Not handed over: the word %s.", f.Message)
	}
	return say(me, "Not put off: this %s.", f.Message)
}

// attend notes that a person is at an ask, as the page tells every 10 s.
func (s *Server) attend(w http.ResponseWriter, r *http.Request, me responder.Viewer) {
	k, v := keyOf(r), me
	var err error
	switch state := r.FormValue(fieldState); state {
	case "gone":
		err = s.board.Leave(v, k)
	case "looking", "answering":
		if _, err = s.record(r.Context(), me, k); errors.Is(err, ask.ErrNotFound) {
			s.notFound(w, me)
			return
		}
		err = s.board.Look(v, k, state == "answering")
	default:
		http.Error(w, `state: say "looking", "answering" or "gone"`, http.StatusBadRequest)
		return
	}
	if err != nil {
		http.Error(w, "nobody was told", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
