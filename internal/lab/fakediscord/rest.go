package fakediscord

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func sha(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// refusal is an error of the API.
type refusal struct {
	status, code int
	message      string
	errors       any
}

func (r *refusal) Error() string { return r.message }

var (
	errChannel = &refusal{404, 10003, "Unknown Channel", nil}
	errAccess  = &refusal{403, 20012, "You are not authorized to perform this action on this application", nil}
	errMessage = &refusal{404, 10008, "Unknown Message", nil}
)

// invalid returns the refusal of a body.
func invalid(err error) error {
	return &refusal{400, 50035, "Invalid Form Body", map[string]any{"body": map[string]any{"_errors": []any{map[string]string{"code": "INVALID", "message": err.Error()}}}}}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	route := func(pattern string, limit int, per time.Duration, f func(r *http.Request) (any, error)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v10"+path, func(w http.ResponseWriter, r *http.Request) { s.limited(w, r, pattern, limit, per, f) })
	}
	route("GET /applications/@me", 10, time.Second, func(*http.Request) (any, error) {
		return map[string]any{"id": App, "name": "askbus", "verify_key": s.PublicKey(), "interactions_endpoint_url": nullable(s.endpoint), "bot": s.users[Bot]}, nil
	})
	route("GET /applications/{app}/commands", 10, time.Second, s.listCommands)
	route("POST /applications/{app}/commands", 5, 20*time.Second, s.makeCommand)
	route("GET /users/@me", 10, time.Second, func(*http.Request) (any, error) { return s.users[Bot], nil })
	route("GET /gateway/bot", 2, 5*time.Second, func(*http.Request) (any, error) {
		return map[string]any{
			"url": "ws" + strings.TrimPrefix(s.http.URL, "http") + "/gateway", "shards": 1,
			"session_start_limit": map[string]int{"total": 1000, "remaining": 1000 - s.identified, "reset_after": 14400000, "max_concurrency": 1},
		}, nil
	})
	route("GET /channels/{channel}", 50, time.Second, func(r *http.Request) (any, error) {
		user, ok := s.channels[r.PathValue("channel")]
		switch {
		case !ok:
			return nil, errChannel
		case user != "":
			return map[string]any{"id": r.PathValue("channel"), "type": 1, "recipients": []User{s.users[user]}}, nil
		}
		return map[string]any{"id": r.PathValue("channel"), "type": 0, "name": "asks", "guild_id": Guild}, nil
	})
	route("POST /users/@me/channels", 10, time.Second, s.openDirect)
	route("GET /guilds/{guild}/roles", 10, time.Second, func(*http.Request) (any, error) {
		all := []map[string]string{}
		for id, name := range s.roles {
			all = append(all, map[string]string{"id": id, "name": name})
		}
		return all, nil
	})
	route("POST /channels/{channel}/messages", 5, 5*time.Second, s.postMessage)
	route("PATCH /channels/{channel}/messages/{message}", 5, 5*time.Second, s.editMessage)
	route("GET /channels/{channel}/messages", 20, 5*time.Second, s.history)
	route("DELETE /channels/{channel}/messages/{message}", 5, time.Second, func(r *http.Request) (any, error) {
		at := slices.IndexFunc(s.messages, func(m *Message) bool { return m.ID == r.PathValue("message") && m.Channel == r.PathValue("channel") })
		if at < 0 {
			return nil, errMessage
		}
		s.messages = slices.Delete(s.messages, at, at+1)
		return nil, nil
	})
	mux.HandleFunc("POST /api/v10/interactions/{id}/{token}/callback", s.callback)
	mux.HandleFunc("POST /api/v10/webhooks/{app}/{token}", s.followUp)
	mux.HandleFunc("PATCH /api/v10/webhooks/{app}/{token}/messages/@original", s.followUp)
	mux.HandleFunc("GET /gateway", s.serveGateway)
	mux.HandleFunc("GET /gateway/{$}", s.serveGateway)
	return mux
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// bucket counts the calls of a route, or of all.
type bucket struct {
	used  int
	until time.Time
}

// take counts a call. The caller holds mu.
func (s *Server) take(name string, limit int, per time.Duration) (left int, after time.Duration) {
	b, now := s.buckets[name], s.now()
	if b == nil || !now.Before(b.until) {
		b = &bucket{until: now.Add(per)}
		s.buckets[name] = b
	}
	b.used++
	return limit - b.used, b.until.Sub(now)
}

// limited serves a route with its limits.
func (s *Server) limited(w http.ResponseWriter, r *http.Request, pattern string, limit int, per time.Duration, f func(r *http.Request) (any, error)) {
	s.mu.Lock()
	s.calls[pattern]++
	revoked, intercept := s.revoked, s.intercept
	all, wait := s.take("global", 50, time.Second)
	left, after := s.take(pattern+" "+r.PathValue("channel"), limit, per)
	if all < 0 || left < 0 {
		s.calls["429"]++
	}
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bot "+Token || revoked {
		reply(w, http.StatusUnauthorized, map[string]any{"message": "401: Unauthorized", "code": 0})
		return
	}
	h := w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(after.Seconds(), 'f', 3, 64))
	h.Set("X-RateLimit-Bucket", fmt.Sprintf("%x", sha(pattern))[:16])
	switch {
	case all < 0:
		h.Set("X-RateLimit-Global", "true")
		tooMany(w, wait, "global")
		return
	case left < 0:
		tooMany(w, after, "user")
		return
	}
	op := map[string]string{"POST /channels/{channel}/messages": "post", "PATCH /channels/{channel}/messages/{message}": "edit", "GET /channels/{channel}/messages": "find"}[pattern]
	var files []File
	body, key := s.body(r, &files)
	if op == "" {
		intercept = nil
	}
	for _, done := range []bool{false, true} {
		var v any
		if done {
			s.mu.Lock()
			out, err := f(r.WithContext(withBody(r.Context(), body, files)))
			s.touch()
			s.mu.Unlock()
			if err != nil {
				refuse(w, err)
				return
			}
			v = out
		}
		if intercept != nil {
			switch wait, err := intercept(op, key, done); {
			case wait > 0:
				tooMany(w, wait, "shared")
				return
			case err != nil:
				reply(w, http.StatusBadGateway, map[string]any{"message": err.Error(), "code": 0})
				return
			}
		}
		if done {
			status := http.StatusOK
			if v == nil {
				status = http.StatusNoContent
			}
			reply(w, status, v)
		}
	}
}

func tooMany(w http.ResponseWriter, after time.Duration, scope string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())+1))
	w.Header().Set("X-RateLimit-Scope", scope)
	reply(w, http.StatusTooManyRequests, map[string]any{"message": "You are being rate limited.", "retry_after": after.Seconds(), "global": scope == "global"})
}

func refuse(w http.ResponseWriter, err error) {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		reply(w, http.StatusInternalServerError, map[string]any{"message": err.Error(), "code": 0})
		return
	}
	out := map[string]any{"message": r.message, "code": r.code}
	if r.errors != nil {
		out["errors"] = r.errors
	}
	reply(w, r.status, out)
}

// sent is a message as it comes in.
type sent struct {
	Content    *string     `json:"content"`
	Components []Component `json:"components"`
	Flags      *int        `json:"flags"`
	Nonce      any         `json:"nonce"`
	Enforce    bool        `json:"enforce_nonce"`
	Mentions   *allowed    `json:"allowed_mentions"`
	Reference  *struct {
		ID   string `json:"message_id"`
		Must *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`
}

type allowed struct {
	Parse []string `json:"parse"`
	Users []string `json:"users"`
	Roles []string `json:"roles"`
}

func (s *Server) openDirect(r *http.Request) (any, error) {
	var in struct {
		ID string `json:"recipient_id"`
	}
	_ = json.Unmarshal(bodyOf(r), &in) // an empty id is refused
	if _, ok := s.users[in.ID]; !ok {
		return nil, &refusal{400, 50033, "Invalid Recipient(s)", nil}
	}
	for id, user := range s.channels {
		if user == in.ID {
			return map[string]any{"id": id, "type": 1}, nil
		}
	}
	id := s.id()
	s.channels[id] = in.ID
	return map[string]any{"id": id, "type": 1, "recipients": []User{s.users[in.ID]}}, nil
}

func (s *Server) postMessage(r *http.Request) (any, error) {
	channel := r.PathValue("channel")
	user, ok := s.channels[channel]
	if !ok {
		return nil, errChannel
	}
	if user != "" && (s.users[user].NoDMs || s.users[user].Bot) {
		return nil, &refusal{403, 50007, "Cannot send messages to this user", nil}
	}
	var in sent
	if err := json.Unmarshal(bodyOf(r), &in); err != nil {
		return nil, &refusal{400, 50109, "The request body contains invalid JSON.", nil}
	}
	nonce := ""
	if in.Nonce != nil {
		nonce = fmt.Sprint(in.Nonce)
	}
	if len(nonce) > 25 {
		return nil, invalid(errors.New("nonce must be 25 or fewer in length"))
	}
	if in.Enforce && nonce != "" {
		for _, m := range s.messages { // "in the past few minutes"
			if m.Nonce == nonce && m.Author == Bot && s.now().Sub(m.at) < 5*time.Minute {
				return s.shown(m), nil
			}
		}
	}
	m := &Message{Channel: channel, Author: Bot, Nonce: nonce, Files: filesOf(r), at: s.now()}
	if err := m.take(&in); err != nil {
		return nil, invalid(err)
	}
	if to := in.Reference; to != nil {
		if s.find(channel, to.ID) != nil {
			m.ReplyTo = to.ID
		} else if to.Must == nil || *to.Must {
			return nil, invalid(errors.New("message_reference: Unknown message"))
		}
	}
	m.ID = s.id()
	m.Notified = notified(m, in.Mentions)
	s.messages = append(s.messages, m)
	return s.shown(m), nil
}

func (s *Server) editMessage(r *http.Request) (any, error) {
	if _, ok := s.channels[r.PathValue("channel")]; !ok {
		return nil, errChannel
	}
	m := s.find(r.PathValue("channel"), r.PathValue("message"))
	switch {
	case m == nil:
		return nil, errMessage
	case m.Author != Bot:
		return nil, &refusal{403, 50005, "Cannot edit a message authored by another user", nil}
	}
	var in sent
	if err := json.Unmarshal(bodyOf(r), &in); err != nil {
		return nil, &refusal{400, 50109, "The request body contains invalid JSON.", nil}
	}
	if err := m.take(&in); err != nil {
		return nil, invalid(err)
	}
	m.Edited++
	return s.shown(m), nil
}

// history returns messages, the newest first; those after an id are the oldest of them.
func (s *Server) history(r *http.Request) (any, error) {
	if _, ok := s.channels[r.PathValue("channel")]; !ok {
		return nil, errChannel
	}
	limit, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil {
		limit = 50
	}
	if limit < 1 || limit > 100 {
		return nil, invalid(errors.New("limit must be between 1 and 100"))
	}
	after, _ := strconv.ParseUint(r.FormValue("after"), 10, 64)
	var all []map[string]any
	for _, m := range s.messages {
		if n, _ := strconv.ParseUint(m.ID, 10, 64); m.Channel == r.PathValue("channel") && m.For == "" && n > after {
			all = append(all, s.shown(m))
		}
	}
	if len(all) > limit {
		if r.FormValue("after") != "" {
			all = all[:limit]
		} else {
			all = all[len(all)-limit:]
		}
	}
	slices.Reverse(all)
	if all == nil {
		all = []map[string]any{}
	}
	return all, nil
}
