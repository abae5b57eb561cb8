package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// The Socket Mode client of slack-go connects, gets a click, follows a
// disconnect frame and gets another one.
func TestSlackGoSocketMode(t *testing.T) {
	t.Parallel()
	s := workspace(t)
	o := s.Settings()
	api := slack.New(o.BotToken, slack.OptionAPIURL(s.URL()), slack.OptionAppLevelToken(o.AppToken))
	sm := socketmode.New(api)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clicks := make(chan string, 10)
	go func() { _ = sm.RunContext(ctx) }()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-sm.Events:
				if click, ok := e.Data.(slack.InteractionCallback); ok {
					sm.Ack(*e.Request)
					clicks <- click.ActionCallback.BlockActions[0].Value
				}
			}
		}
	}()
	at := s.PostAsApp("C1", `[{"type":"actions","elements":[{"type":"button","action_id":"pick","value":"pg","text":{"type":"plain_text","text":"PostgreSQL"}}]}]`)
	for round := range 2 {
		live := func() bool { _, live := s.Connections(); return live == 1 && s.Opened() == round+1 }
		waitUntil(t, "connected", live)
		acked(t, s.Click("U1", at, "PostgreSQL"))
		if v := receive(t, clicks); v != "pg" {
			t.Errorf("clicked %q", v)
		}
		s.Disconnect(1, "refresh_requested")
	}
}

// TestSlackGoWebAPI checks that slack-go reads the responses of the Web API and
// recognizes its errors.
func TestSlackGoWebAPI(t *testing.T) {
	t.Parallel()
	s := workspace(t)
	api := slack.New(s.Settings().BotToken, slack.OptionAPIURL(s.URL()))
	ctx := t.Context()
	button := slack.NewButtonBlockElement("pick", "pg", slack.NewTextBlockObject(slack.PlainTextType, "PostgreSQL", false, false))
	channel, ts, err := api.PostMessageContext(ctx, "C1", slack.MsgOptionText("q", false), slack.MsgOptionBlocks(slack.NewActionBlock("a", button)),
		slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "askbus", EventPayload: map[string]any{"key": "k1"}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := api.UpdateMessageContext(ctx, channel, ts, slack.MsgOptionText("done", false), slack.MsgOptionBlocks()); err != nil {
		t.Error(err)
	}
	if m, ok := s.Message(fakeslack.Place{Channel: channel, TS: ts}); !ok || m.Live() || m.Text != "done" {
		t.Errorf("the message is %+v", m)
	}
	page, err := api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: "C1", IncludeAllMetadata: true})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].Metadata.EventPayload["key"] != "k1" {
		t.Errorf("history: %+v %v", page, err)
	}
	if u, err := api.GetUserByEmailContext(ctx, "mei@example.com"); err != nil || u.ID != "U1" {
		t.Errorf("by e-mail: %+v %v", u, err)
	}
	if users, err := api.GetUserGroupMembersContext(ctx, "S1"); err != nil || len(users) != 1 {
		t.Errorf("group: %v %v", users, err)
	}
	s.Throttle("chat.update", time.Minute)
	_, _, _, err = api.UpdateMessageContext(ctx, channel, ts, slack.MsgOptionText("again", false))
	if limited, ok := errors.AsType[*slack.RateLimitedError](err); !ok || limited.RetryAfter < 59*time.Second {
		t.Errorf("throttled: %v", err)
	}
	s.Revoke("token_revoked")
	if _, err := api.AuthTestContext(ctx); err == nil || err.Error() != "token_revoked" {
		t.Errorf("revoked: %v", err)
	}
}

// The verifier of slack-go accepts what the fake signs, and nothing else.
func TestSlackGoSignature(t *testing.T) {
	t.Parallel()
	s := workspace(t)
	var secret string
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := slack.NewSecretsVerifier(r.Header, secret)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event json.RawMessage
		body := http.MaxBytesReader(w, r.Body, 1<<20)
		if err := json.NewDecoder(io.TeeReader(body, &v)).Decode(&event); err != nil || v.Ensure() != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer app.Close()
	s.DeliverTo(app.URL, app.URL, app.URL)
	secret = s.Settings().SigningSecret
	s.Write("U1", "C1", "", "hello")
	waitUntil(t, "the event", func() bool { return s.Count("events_api") == 1 })
	secret = "another"
	at := s.PostAsApp("C1", `[{"type":"actions","elements":[{"type":"button","action_id":"pick","value":"pg","text":{"type":"plain_text","text":"PG"}}]}]`)
	if d := s.Click("U1", at, "PG"); d.Acked || d.Status != http.StatusUnauthorized {
		t.Errorf("with another secret: %+v", d)
	}
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(waittest.Limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(waittest.Limit):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
