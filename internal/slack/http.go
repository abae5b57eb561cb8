package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"time"

	slackapi "github.com/slack-go/slack"
)

// Paths where Slack delivers over HTTP.
const (
	PathInteractions = "/slack/interactions"
	PathEvents       = "/slack/events"
	PathCommands     = "/slack/commands"
)

// maxBody is the largest request of Slack that is read.
const maxBody = 1 << 20

// Handler takes what Slack sends over HTTP. It keeps nothing between requests:
// any replica takes any of them. A request is refused unless its raw body is
// signed, and not older or newer than five minutes; nothing is ever read from
// the query, which no signature covers.
func (s *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathInteractions, s.signed(s.serveInteraction))
	mux.HandleFunc("POST "+PathEvents, s.signed(s.serveEvent))
	mux.HandleFunc("POST "+PathCommands, s.signed(s.serveCommand))
	return mux
}

func (s *App) signed(next func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		verifier, err := slackapi.NewSecretsVerifier(r.Header, s.opts.SigningSecret)
		if err != nil { // before the body: a stranger's is not read
			s.log.InfoContext(r.Context(), "refused an unsigned request", slog.String("error", err.Error()))
			http.Error(w, "unsigned or too old", http.StatusUnauthorized)
			return
		}
		if r.URL.RawQuery != "" {
			http.Error(w, "a query is not signed; none is taken", http.StatusBadRequest)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body cannot be read, or is over 1 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		_, _ = verifier.Write(body)
		if err := verifier.Ensure(); err != nil {
			s.log.WarnContext(r.Context(), "refused a request with a wrong signature")
			http.Error(w, "wrong signature", http.StatusUnauthorized)
			return
		}
		select {
		case s.busy <- struct{}{}:
			defer func() { <-s.busy }()
		default:
			http.Error(w, "too many at once", http.StatusServiceUnavailable)
			return
		}
		next(w, r, body)
	}
}

// proofHTTP and proofSocket say how we know who acted.
const (
	proofHTTP   = "slack-signature"
	proofSocket = "slack-socket"
)

func (s *App) serveInteraction(w http.ResponseWriter, r *http.Request, body []byte) {
	form, err := formOf(r, body)
	if err != nil || form.Get("payload") == "" {
		http.Error(w, "no payload in the body", http.StatusBadRequest)
		return
	}
	payload := []byte(form.Get("payload"))
	s.acknowledge(w, s.inTime(r.Context(), payload, func(ctx context.Context) any { return s.interact(ctx, payload, proofHTTP) }))
}

func formOf(r *http.Request, body []byte) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, http.ErrNotSupported
	}
	return url.ParseQuery(string(body))
}

// inTime stores first and acknowledges then. After 2.5 s it acknowledges
// anyway; what comes of it is told afterwards.
func (s *App) inTime(ctx context.Context, payload []byte, handle func(context.Context) any) any {
	done := make(chan any, 1)
	s.background(ctx, func(ctx context.Context) { done <- handle(ctx) })
	timer := time.NewTimer(s.opts.AckAfter)
	defer timer.Stop()
	select {
	case answer := <-done:
		return answer
	case <-timer.C:
	}
	s.background(ctx, func(ctx context.Context) { s.followUp(ctx, payload, <-done) })
	var in interaction
	if json.Unmarshal(payload, &in) == nil && in.Type == "view_submission" {
		l := s.speaks(ctx, in.User.ID, nil)
		return sayView(l, l.Say("Sending…"), l.Say("Your answer is on its way. The card will show when it is stored; this window tells if it is not."))
	}
	return nil
}

// followUp tells in a modal what came of a submission that was acknowledged
// before it was stored.
func (s *App) followUp(ctx context.Context, payload []byte, answer any) {
	var in interaction
	if json.Unmarshal(payload, &in) != nil || in.Type != "view_submission" {
		return
	}
	l := s.speaks(ctx, in.User.ID, nil)
	v := noteModal(l, l.Say("Stored"), l.Say("Your answer is stored."))
	if body, ok := answer.(map[string]any); ok {
		v = noteModal(l, l.Say("Not stored"), l.Say("Your answer was not stored. Please open the form again."))
		if view, ok := body["view"].(slackapi.ModalViewRequest); ok {
			v = view
		}
	}
	if err := s.api.updateView(ctx, in.View.ID, v); err != nil {
		s.log.InfoContext(ctx, "cannot say in a modal what came of it", slog.String("error", err.Error()))
	}
}

func (s *App) acknowledge(w http.ResponseWriter, answer any) {
	if answer == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	data, err := json.Marshal(answer)
	if err != nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// event is what the Events API sends.
type event struct {
	Type      string `json:"type"`
	Challenge string `json:"challenge"`
	Event     struct {
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
		User     string `json:"user"`
		UserTeam string `json:"user_team"`
		Team     string `json:"team"`
		BotID    string `json:"bot_id"`
		Text     string `json:"text"`
		Channel  string `json:"channel"`
		TS       string `json:"ts"`
		Thread   string `json:"thread_ts"`
		Tab      string `json:"tab"`
	} `json:"event"`
}

func (s *App) serveEvent(w http.ResponseWriter, r *http.Request, body []byte) {
	var e event
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&e); err != nil {
		http.Error(w, "the body is not an event", http.StatusBadRequest)
		return
	}
	if e.Type == "url_verification" {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, e.Challenge)
		return
	}
	s.acknowledge(w, s.inTime(r.Context(), nil, func(ctx context.Context) any { s.happened(ctx, &e, proofHTTP); return nil }))
}

func (s *App) serveCommand(w http.ResponseWriter, r *http.Request, body []byte) {
	form, err := formOf(r, body)
	if err != nil || form.Get("user_id") == "" {
		http.Error(w, "no command in the body", http.StatusBadRequest)
		return
	}
	c := command{User: form.Get("user_id"), Name: form.Get("user_name"), Team: form.Get("team_id"), Trigger: form.Get("trigger_id")}
	s.acknowledge(w, s.inTime(r.Context(), nil, func(ctx context.Context) any { return s.commanded(ctx, c, proofHTTP) }))
}
