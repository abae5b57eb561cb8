package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// Pushes stores the push subscriptions of browsers. All methods are safe for
// concurrent use. Errors are those of shared state.
type Pushes interface {
	// PublicKey returns the key with which browsers subscribe.
	PublicKey() string
	// Subscribe stores a browser's PushSubscription, as JSON, for a sign-in
	// session. Messages are in the given language, a tag.
	// The error is [ask.ErrInvalid] if body is not a subscription. Subscribing
	// again renews it.
	Subscribe(ctx context.Context, by ask.By, access ask.Access, language, session string, body []byte) error
	// Unsubscribe removes one of this person's subscriptions. It is not an
	// error if there is none.
	Unsubscribe(ctx context.Context, by ask.By, endpoint string) error
	// Test sends a message, JSON for the service worker, to one of this person's
	// browsers. The error is [ask.ErrNotFound] if it has no subscription.
	Test(ctx context.Context, by ask.By, endpoint string, message []byte) error
	// SignedOut removes the subscriptions of a sign-in session.
	SignedOut(ctx context.Context, session string) error
}

// maxSubscription bounds a subscription's JSON, in bytes.
const maxSubscription = 4 << 10

// notice returns an ask as the content of a browser notification.
func (s *Server) notice(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	record, err := s.record(r.Context(), me, keyOf(r))
	if err != nil {
		s.say(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(card.New(&record, viewer(me), s.opts.Now()).Notice(record.Life)) // an error means that the browser disconnected
}

// pick answers an ask of one question with one option, from a notification. The
// life is that of the ask in the notification, and me whom it was for: another person may have signed in at
// that browser since. A refusal is a sentence that the
// notification then shows.
func (s *Server) pick(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	record, err := s.record(r.Context(), me, keyOf(r))
	switch {
	case err != nil:
		s.uncounted(w, r, me, nil, err)
		return
	case r.PostFormValue(fieldMe) != me.By.Principal:
		words := say(me, "Your answer did not count: somebody else has signed in in this browser. Open the inbox, and answer there.")
		http.Error(w, words, http.StatusConflict)
		return
	case record.State == ask.StatePending && record.Life != r.PostFormValue("life"):
		s.uncounted(w, r, me, &record, ask.Refuse(ask.CodeConflict, "the agent has asked this again since"))
		return
	case record.State == ask.StatePending && !viewer(me).May(&record).Answer:
		s.uncounted(w, r, me, &record, ask.Refuse(ask.CodeForbidden, "%s", viewer(me).May(&record).Why))
		return
	case card.Delicate(&record.Ask) || len(record.Ask.Questions) != 1:
		s.uncounted(w, r, me, &record, ask.Refuse(ask.CodeConflict, "this is chosen in the inbox only"))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	q, option := &record.Ask.Questions[0], r.PostFormValue("option")
	a := ask.Answer{QuestionID: q.ID}
	if q.Kind == ask.KindBoolean {
		a.Boolean = new(option == card.Yes)
	} else {
		a.Selected = []string{option}
	}
	outcome, err := s.asks.Answer(ctx, record.Ask.Key(), ask.Reply{AnswerID: r.PostFormValue(fieldAnswerID), By: me.By, Answers: []ask.Answer{a}})
	if err != nil {
		s.uncounted(w, r, me, &record, err)
		return
	}
	s.settle(record, outcome)
	s.opts.Logger.InfoContext(r.Context(), "answered", slog.String("ask_id", record.Ask.ID), slog.String("status", string(outcome.Status)))
	w.WriteHeader(http.StatusNoContent)
}

// uncounted says why a choice in a notification did not count: record is nil if the ask cannot be read.
func (s *Server) uncounted(w http.ResponseWriter, r *http.Request, me board.Viewer, record *ask.Record, err error) {
	status, words := http.StatusServiceUnavailable, say(me, "Your answer did not count: it could not be stored just now. Open the ask, and answer there.")
	e, _ := errors.AsType[*ask.Error](err)
	switch {
	case errors.Is(err, ask.ErrNotFound):
		status, words = http.StatusNotFound, say(me, "Your answer did not count: there is no such ask any more.")
	case errors.Is(err, ask.ErrResolved) && e != nil && e.Outcome != nil && record != nil:
		s.settle(*record, *e.Outcome)
		record.State, record.Outcome = ask.StateResolved, e.Outcome
		status, words = http.StatusConflict, card.NewEnd(record, viewer(me), s.opts.Now()).Late()
	case record != nil && record.State == ask.StatePending && record.Life != r.PostFormValue("life"):
		status, words = http.StatusConflict, say(me, "Your answer did not count: the agent has asked this again since. Open the ask, and look again.")
	case errors.Is(err, ask.ErrForbidden):
		status, words = http.StatusForbidden, say(me, "You may not decide this: %s.", e.In(me.Language).Detail)
	case errors.Is(err, ask.ErrConflict), errors.Is(err, ask.ErrInvalid):
		if status = http.StatusConflict; errors.Is(err, ask.ErrInvalid) {
			status = http.StatusUnprocessableEntity
		}
		words = say(me, "Your answer did not count: this is decided in the inbox only. Open the ask, and answer there.")
	default:
		s.opts.Logger.WarnContext(r.Context(), "an answer was not stored", slog.Any("error", err))
	}
	http.Error(w, words, status)
}

// tests is how often a minute somebody may ring their own browsers.
const tests = 10

// testPush rings this browser, through its push service, as an ask would. Its service
// worker tells the page that it has arrived.
func (s *Server) testPush(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	id := r.PostFormValue("id")
	switch {
	case s.opts.Push == nil:
		s.say(w, r, ask.Refuse(ask.CodeNotFound, "this inbox sends no push messages"))
	case id == "" || len(id) > 64:
		s.say(w, r, ask.InvalidError("test", []ask.Fault{ask.NewFault("/id", ask.FaultBadID, id, 64)}))
	case !s.ringing.Take(me.By.Principal, s.opts.Now()):
		s.say(w, r, ask.Refuse(ask.CodeQuota, "at most %d tests a minute", tests))
	default:
		message, err := json.Marshal(map[string]string{
			"test": id, "tag": "askbus-test", "path": "/", "title": say(me, "A test of askbus"), "body": say(me, "Notifications reach this device."),
		})
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		if err == nil {
			err = s.opts.Push.Test(ctx, me.By, r.PostFormValue("endpoint"), message)
		}
		s.say(w, r, err)
	}
}

// subscribe stores this browser's push subscription.
func (s *Server) subscribe(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSubscription))
	id, ok := s.sessionID(r)
	switch {
	case err != nil:
		err = ask.Refuse(ask.CodeTooLarge, "a subscription has at most %d bytes", maxSubscription)
	case s.opts.Push == nil || !ok:
		err = ask.Refuse(ask.CodeNotFound, "this inbox sends no push messages")
	default:
		err = s.opts.Push.Subscribe(r.Context(), me.By, me.Access, me.Language, id, body)
	}
	s.say(w, r, err)
}

func (s *Server) unsubscribe(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	if s.opts.Push == nil {
		s.say(w, r, nil)
		return
	}
	s.say(w, r, s.opts.Push.Unsubscribe(r.Context(), me.By, r.PostFormValue("endpoint")))
}

// say answers a script: an empty response, or a sentence and its status.
func (s *Server) say(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, ask.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, ask.ErrInvalid):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, ask.ErrForbidden):
		status = http.StatusForbidden
	case errors.Is(err, ask.ErrResolved), errors.Is(err, ask.ErrConflict):
		status = http.StatusConflict
	case errors.Is(err, ask.ErrTooLarge):
		status = http.StatusRequestEntityTooLarge
	default:
		s.opts.Logger.WarnContext(r.Context(), "a script was refused", slog.Any("error", err))
	}
	http.Error(w, err.Error(), status)
}

// pushKey returns the key with which browsers subscribe, or nothing.
func (s *Server) pushKey() string {
	if s.opts.Push == nil {
		return ""
	}
	return s.opts.Push.PublicKey()
}
