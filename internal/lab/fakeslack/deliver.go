package fakeslack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Delivery is the result of a delivery to the app.
type Delivery struct {
	Acked  bool
	Lost   string // why it was not acknowledged; empty: it was
	Status int    // over HTTP
	Body   json.RawMessage
	Took   time.Duration
}

// hooks are the app's request URLs; without them deliveries use Socket Mode.
type hooks struct {
	events, interactions, commands string

	lose      int // how many interactions to lose
	repeats   int // how often to repeat an acknowledged event
	clickTeam string
}

// DeliverTo switches to HTTP: events, interactions and commands go to their URLs.
func (s *Server) DeliverTo(events, interactions, commands string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.events, s.hooks.interactions, s.hooks.commands = events, interactions, commands
}

// LoseClicks loses the next n interactions. Slack never repeats one.
func (s *Server) LoseClicks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.lose = n
}

// RepeatEvents delivers every event n more times, acknowledged or not.
func (s *Server) RepeatEvents(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.repeats = n
}

// ClickFrom makes interactions name another team than the one of the post, as in a grid.
func (s *Server) ClickFrom(team string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.clickTeam = team
}

const (
	interactive = "interactive"
	eventsAPI   = "events_api"
	slash       = "slash_commands"
)

// deliver makes and counts one delivery. The caller holds no lock.
func (s *Server) deliver(kind string, payload map[string]any, retry int, reason string) Delivery {
	d := s.send(kind, payload, retry, reason)
	if d.Acked {
		s.mu.Lock()
		s.counts[kind]++
		s.wake()
		s.mu.Unlock()
	}
	return d
}

func (s *Server) send(kind string, payload map[string]any, retry int, reason string) Delivery {
	s.mu.Lock()
	h := s.hooks
	if kind == interactive && s.hooks.lose > 0 {
		s.hooks.lose--
		s.mu.Unlock()
		return Delivery{Lost: "lost in transit"}
	}
	s.mu.Unlock()
	switch {
	case h.events == "":
		return s.overSocket(kind, payload, retry, reason, kind != eventsAPI)
	case kind == eventsAPI:
		data, _ := json.Marshal(payload)
		return s.overHTTP(h.events, "application/json", data, retry, reason)
	case kind == slash:
		form := url.Values{}
		for k, v := range payload {
			if text, ok := v.(string); ok {
				form.Set(k, text)
			}
		}
		return s.overHTTP(h.commands, "application/x-www-form-urlencoded", []byte(form.Encode()), 0, "")
	}
	data, _ := json.Marshal(payload)
	return s.overHTTP(h.interactions, "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(data)}}.Encode()), 0, "")
}

func (s *Server) overHTTP(to, contentType string, body []byte, retry int, reason string) Delivery {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.AckWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return Delivery{Lost: err.Error()}
	}
	req.Header.Set("Content-Type", contentType)
	s.Sign(req.Header, body, time.Now())
	if retry > 0 {
		req.Header.Set("X-Slack-Retry-Num", strconv.Itoa(retry))
		req.Header.Set("X-Slack-Retry-Reason", reason)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return Delivery{Lost: "not acknowledged in time", Took: time.Since(began)}
	}
	defer res.Body.Close() //nolint:errcheck // fully read
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	d := Delivery{Acked: err == nil && res.StatusCode == http.StatusOK, Status: res.StatusCode, Took: time.Since(began)}
	if !d.Acked {
		d.Lost = "refused with " + res.Status
	}
	if json.Valid(data) {
		d.Body = data
	}
	return d
}

// Sign signs a body as Slack does.
func (s *Server) Sign(h http.Header, body []byte, at time.Time) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(s.opts.SigningSecret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	h.Set("X-Slack-Request-Timestamp", stamp)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}

// spawn runs f unless the server is closing; the caller holds the lock.
func (s *Server) spawn(f func()) {
	select {
	case <-s.closed:
	default:
		s.work.Go(f)
	}
}

// emit delivers an event, and repeats it while it is not acknowledged: at once, after one minute
// and after five. The caller holds the lock.
func (s *Server) emit(event map[string]any) {
	payload := map[string]any{
		"type": "event_callback", "team_id": s.opts.Team, "api_app_id": AppID, "event_id": s.id("Ev"), "event_time": s.opts.Clock.Now().Unix(), "event": event,
		"authorizations": []map[string]any{{"team_id": s.opts.Team, "user_id": BotUser, "is_bot": true}},
	}
	if s.opts.Enterprise != "" {
		payload["enterprise_id"] = s.opts.Enterprise
	}
	repeats := s.hooks.repeats
	s.spawn(func() { s.attempt(payload, 0, repeats) })
}

// attempt makes one delivery of an event; repeats is how many more follow even if it is
// acknowledged.
func (s *Server) attempt(payload map[string]any, retry, repeats int) {
	reason := ""
	if retry > 0 {
		reason = "timeout"
	}
	d := s.deliver(eventsAPI, payload, retry, reason)
	if d.Acked && repeats <= 0 || retry == 3 {
		return
	}
	wait := []time.Duration{0, time.Minute, 5 * time.Minute}[retry]
	again := func() { s.attempt(payload, retry+1, repeats-1) }
	if wait == 0 {
		again()
		return
	}
	s.opts.Clock.AfterFunc(wait, func() {
		s.mu.Lock()
		done := make(chan struct{})
		s.spawn(func() { defer close(done); again() })
		s.mu.Unlock()
		select {
		case <-done:
		case <-s.closed:
		}
	})
}

// emitMessage sends a message event to the app if the app may read there, for its own messages as
// well. The caller holds the lock.
func (s *Server) emitMessage(m *Message) {
	c := s.channels[m.Channel]
	kind, scope := "channel", "channels:history"
	if c.With != "" {
		kind, scope = "im", "im:history"
	}
	if !slices.Contains(s.opts.Scopes, scope) || c.With == "" && !slices.Contains(c.Members, BotUser) {
		return
	}
	event := s.messageObject(m)
	event["channel"], event["channel_type"], event["event_ts"] = m.Channel, kind, m.TS
	if u := s.users[m.User]; u != nil {
		event["team"], event["user_team"] = u.Team, u.Team
	}
	s.emit(event)
}
