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
// life is that of the ask in the notification.
func (s *Server) pick(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	record, err := s.record(r.Context(), me, keyOf(r))
	if err != nil {
		s.say(w, r, err)
		return
	}
	if record.Life != r.PostFormValue("life") {
		s.say(w, r, ask.Refuse(ask.CodeConflict, "the agent has asked this again since; look at it first"))
		return
	}
	if may := viewer(me).May(&record); !may.Answer && record.State == ask.StatePending {
		s.say(w, r, ask.Refuse(ask.CodeForbidden, "%s", may.Why))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	reply := ask.Reply{AnswerID: r.PostFormValue(fieldAnswerID), By: me.By}
	if len(record.Ask.Questions) == 1 {
		q, option := &record.Ask.Questions[0], r.PostFormValue("option")
		a := ask.Answer{QuestionID: q.ID}
		if q.Kind == ask.KindBoolean {
			a.Boolean = new(option == card.Yes)
		} else {
			a.Selected = []string{option}
		}
		reply.Answers = []ask.Answer{a}
	}
	if len(record.Ask.Destructive(reply.Answers)) > 0 {
		s.say(w, r, ask.Refuse(ask.CodeConflict, "this option is destructive; choose it in the inbox"))
		return
	}
	outcome, err := s.asks.Answer(ctx, record.Ask.Key(), reply)
	if errors.Is(err, ask.ErrVoted) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err != nil {
		s.say(w, r, err)
		return
	}
	s.settle(record, outcome)
	s.opts.Logger.InfoContext(r.Context(), "answered", slog.String("ask_id", record.Ask.ID), slog.String("status", string(outcome.Status)))
	w.WriteHeader(http.StatusNoContent)
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
