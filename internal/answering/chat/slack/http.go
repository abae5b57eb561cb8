package slack

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	slackapi "github.com/slack-go/slack"
)

// Paths for Slack's HTTP deliveries.
const (
	PathInteractions = "/slack/interactions"
	PathEvents       = "/slack/events"
	PathCommands     = "/slack/commands"
)

// Handler serves Slack's HTTP deliveries. It keeps no state between requests: any replica serves
// any of them. It refuses a request whose raw body is not signed or whose timestamp is off by more
// than five minutes; it ignores the query, which the signature does not cover.
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
		if err != nil { // before reading the body
			s.Log.WarnContext(r.Context(), "refused an unsigned request", slog.String("error", err.Error()))
			s.RefuseRequest(r, ask.CodeUnauthorized, "unsigned or too old")
			http.Error(w, "unsigned or too old", http.StatusUnauthorized)
			return
		}
		if r.URL.RawQuery != "" {
			http.Error(w, "queries are not signed and not accepted", http.StatusBadRequest)
			return
		}
		body, ok := chat.ReadBody(w, r)
		if !ok {
			return
		}
		_, _ = verifier.Write(body)
		if err := verifier.Ensure(); err != nil {
			s.Log.WarnContext(r.Context(), "refused a request with a wrong signature")
			s.RefuseRequest(r, ask.CodeUnauthorized, "wrong signature")
			http.Error(w, "wrong signature", http.StatusUnauthorized)
			return
		}
		if !s.busy.Admit(w) {
			return
		}
		defer s.busy.End()
		next(w, r, body)
	}
}

// proofHTTP and proofSocket are the proofs of a user's identity.
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
	if _, err := readInteraction(payload); err != nil {
		s.RefuseRequest(r, ask.CodeInvalid, err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.acknowledge(w, s.inTime(r.Context(), payload, func(ctx context.Context) any { return s.interact(ctx, payload, proofHTTP) }))
}

func formOf(r *http.Request, body []byte) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, http.ErrNotSupported
	}
	return url.ParseQuery(string(body))
}

// inTime stores first and then acknowledges. After AckAfter it acknowledges anyway, and reports the
// result later.
func (s *App) inTime(ctx context.Context, payload []byte, handle func(context.Context) any) any {
	answer, ok := chat.InTime(ctx, &s.after, s.opts.AckAfter, handle, func(ctx context.Context, answer any) { s.followUp(ctx, payload, answer) })
	if ok {
		return answer
	}
	var in interaction
	if json.Unmarshal(payload, &in) == nil && in.Type == "view_submission" {
		l := s.speaks(in.User.ID, nil)
		return sayView(l, l.Say("Sending…"), l.Say("Your answer is on its way. The card will show when it is stored; this window tells if it is not."))
	}
	return nil
}

// followUp reports in a modal the result of a submission that was acknowledged before it was
// stored.
func (s *App) followUp(ctx context.Context, payload []byte, answer any) {
	var in interaction
	if json.Unmarshal(payload, &in) != nil || in.Type != "view_submission" {
		return
	}
	l := s.speaks(in.User.ID, nil)
	v := noteModal(l, l.Say("Stored"), l.Say("Your answer is stored."))
	if body, ok := answer.(map[string]any); ok {
		v = noteModal(l, l.Say("Not stored"), l.Say("Your answer was not stored. Please open the form again."))
		if view, ok := body["view"].(slackapi.ModalViewRequest); ok {
			v = view
		}
	}
	if err := s.api.updateView(ctx, in.View.ID, v); err != nil {
		s.Log.InfoContext(ctx, "cannot report a result in a modal", slog.String("error", err.Error()))
	}
}

func (s *App) acknowledge(w http.ResponseWriter, answer any) {
	if answer != nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // Slack is gone
	}
}

// event is an event of the Events API.
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
		In       string `json:"channel_type"` // im: a direct message to the bot
		Tab      string `json:"tab"`
	} `json:"event"`
}

func (s *App) serveEvent(w http.ResponseWriter, r *http.Request, body []byte) {
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
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
	if err != nil || strings.TrimSpace(form.Get("user_id")) == "" {
		http.Error(w, "invalid command: user_id is empty", http.StatusBadRequest)
		return
	}
	c := command{User: form.Get("user_id"), Name: form.Get("user_name"), Team: form.Get("team_id")}
	s.acknowledge(w, s.inTime(r.Context(), nil, func(ctx context.Context) any { return s.commanded(ctx, c, proofHTTP) }))
}
