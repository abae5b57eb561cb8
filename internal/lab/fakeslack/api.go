package fakeslack

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Call is one received call of the Web API.
type Call struct {
	Method string
	Error  string // empty: success
}

// maxCalls is how many calls are kept; all are counted.
const maxCalls = 100_000

type (
	args  map[string]any
	reply map[string]any
)

func (a args) text(name string) string {
	switch v := a[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case []any: // conversations.open accepts a list
		if len(v) == 1 {
			s, _ := v[0].(string)
			return s
		}
	}
	return ""
}

func (a args) flag(name string) bool {
	switch v := a[name].(type) {
	case bool:
		return v
	case string:
		return v == "true" || v == "1"
	}
	return false
}

// object decodes an argument that is a JSON object: as is in a JSON body, as a string in a form.
func (a args) object(name string, into any) bool {
	var data []byte
	switch v := a[name].(type) {
	case nil:
		return true
	case string:
		if v == "" {
			return true
		}
		data = []byte(v)
	default:
		var err error
		if data, err = json.Marshal(v); err != nil {
			return false
		}
	}
	return json.Unmarshal(data, into) == nil
}

// apiError is an error response.
type apiError struct {
	code  string
	extra reply
}

func (e *apiError) Error() string { return e.code }

func fail(code string, messages ...string) error {
	e := &apiError{code: code, extra: reply{}}
	if len(messages) > 0 {
		e.extra["response_metadata"] = map[string]any{"messages": messages}
	}
	return e
}

// method describes a method's limits and requirements.
type method struct {
	call  func(*Server, args) (reply, error)
	perM  int    // calls per minute; 0: no limit of its own
	scope string // required of a bot token
	app   bool   // needs the app-level token
}

// Tiers of the Web API, in calls per minute.
const (
	tier1, tier2, tier3, tier4 = 10, 20, 50, 100
)

func methodOf(name string) (method, bool) {
	switch name {
	case "auth.test":
		return method{call: (*Server).authTest}, true
	case "apps.connections.open":
		return method{call: (*Server).connectionsOpen, perM: tier1, app: true}, true
	case "chat.postMessage":
		return method{call: (*Server).chatPost, scope: "chat:write"}, true
	case "chat.update":
		return method{call: (*Server).chatUpdate, perM: tier3, scope: "chat:write"}, true
	case "chat.postEphemeral":
		return method{call: (*Server).chatEphemeral, perM: tier4, scope: "chat:write"}, true
	case "chat.scheduleMessage":
		return method{call: (*Server).chatSchedule, perM: tier3, scope: "chat:write"}, true
	case "chat.scheduledMessages.list":
		return method{call: (*Server).chatScheduledList, perM: tier3}, true
	case "chat.deleteScheduledMessage":
		return method{call: (*Server).chatUnschedule, perM: tier3, scope: "chat:write"}, true
	case "files.getUploadURLExternal":
		return method{call: (*Server).filesUploadURL, perM: tier4, scope: "files:write"}, true
	case "files.completeUploadExternal":
		return method{call: (*Server).filesComplete, perM: tier4, scope: "files:write"}, true
	case "chat.getPermalink":
		return method{call: (*Server).chatPermalink}, true
	case "conversations.open":
		return method{call: (*Server).conversationsOpen, perM: tier3, scope: "im:write"}, true
	case "conversations.info":
		return method{call: (*Server).conversationsInfo, perM: tier3, scope: "channels:read"}, true
	case "conversations.history":
		return method{call: (*Server).conversationsHistory, perM: tier3, scope: "channels:history"}, true
	case "conversations.replies":
		return method{call: (*Server).conversationsReplies, perM: tier3, scope: "channels:history"}, true
	case "views.open":
		return method{call: (*Server).viewsOpen, perM: tier4}, true
	case "views.update":
		return method{call: (*Server).viewsUpdate, perM: tier4}, true
	case "views.publish":
		return method{call: (*Server).viewsPublish, perM: tier4}, true
	case "users.info":
		return method{call: (*Server).usersInfo, perM: tier4, scope: "users:read"}, true
	case "users.lookupByEmail":
		return method{call: (*Server).usersLookup, perM: tier3, scope: "users:read.email"}, true
	case "usergroups.list":
		return method{call: (*Server).groupsList, perM: tier2, scope: "usergroups:read"}, true
	case "usergroups.users.list":
		return method{call: (*Server).groupsUsers, perM: tier2, scope: "usergroups:read"}, true
	}
	return method{}, false
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	a, token, err := readArgs(w, r)
	key := s.keyOf(a)
	if s.intercepted(w, name, key, false) {
		return
	}
	if r.Context().Err() != nil {
		return // the caller has hung up: the call was lost on its way
	}
	out := &held{ResponseWriter: w}
	s.call(out, name, a, token, err)
	if !s.intercepted(w, name, key, true) {
		out.release()
	}
}

// held is a response that is not sent yet.
type held struct {
	http.ResponseWriter
	status int
	body   []byte
}

func (h *held) WriteHeader(status int) { h.status = status }

func (h *held) Write(data []byte) (int, error) {
	h.body = append(h.body, data...)
	return len(data), nil
}

func (h *held) release() {
	if h.status != 0 {
		h.ResponseWriter.WriteHeader(h.status)
	}
	_, _ = h.ResponseWriter.Write(h.body)
}

// Intercept calls f before every call and after it took effect. With a retryAfter the call is
// refused with 429; with any other error it fails like an outage. A nil f stops it.
func (s *Server) Intercept(f func(method, key string, done bool) (retryAfter time.Duration, err error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

func (s *Server) intercepted(w http.ResponseWriter, name, key string, done bool) bool {
	s.mu.Lock()
	f := s.intercept
	s.mu.Unlock()
	if f == nil {
		return false
	}
	after, err := f(name, key, done)
	switch {
	case err == nil:
		return false
	case after > 0:
		s.refuse(w, after)
	default:
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
	return true
}

// keyOf returns the idempotency key from the metadata of a call's message.
func (s *Server) keyOf(a args) string {
	var m Message
	a.object("metadata", &m.Metadata)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.messages[Place{a.text("channel"), a.text("ts")}]; old != nil && m.Metadata == nil {
		m.Metadata = old.Metadata
	}
	return m.Key()
}

// Key returns the "key" of a message's metadata.
func (m *Message) Key() string {
	payload, _ := m.Metadata["event_payload"].(map[string]any)
	key, _ := payload["key"].(string)
	return key
}

func (s *Server) refuse(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, `{"ok":false,"error":"ratelimited"}`)
}

// call executes one call.
func (s *Server) call(w http.ResponseWriter, name string, a args, token string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.outage != 0:
		s.note(name, "outage")
		http.Error(w, "upstream is down", s.outage)
		return
	case err != nil:
		s.answer(w, name, nil, fail("invalid_json"))
		return
	}
	m, known := methodOf(name)
	if !known {
		s.answer(w, name, nil, fail("unknown_method"))
		return
	}
	if err := s.authorize(m, token); err != nil {
		s.answer(w, name, nil, err)
		return
	}
	if wait := s.overLimit(name, m, a); wait > 0 {
		s.note(name, "ratelimited")
		s.refuse(w, wait)
		return
	}
	out, err := m.call(s, a)
	s.answer(w, name, out, err)
}

// readArgs reads a form or JSON, and the token from the header or the form.
func readArgs(w http.ResponseWriter, r *http.Request) (args, string, error) {
	a := args{}
	r.Body = http.MaxBytesReader(w, r.Body, 4<<20)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if err := d.Decode(&a); err != nil && err != io.EOF {
			return a, token, err
		}
		return a, token, nil
	}
	if err := r.ParseMultipartForm(4 << 20); err != nil && err != http.ErrNotMultipart { //nolint:errorlint,gosec // returned bare; the body is bounded above
		return a, token, err
	}
	for name, values := range r.Form {
		a[name] = values[0]
	}
	if t := a.text("token"); t != "" {
		token = t
	}
	delete(a, "token")
	return a, token, nil
}

func (s *Server) authorize(m method, token string) error {
	switch {
	case token == "":
		return fail("not_authed")
	case m.app && token == s.opts.BotToken, !m.app && token == s.opts.AppToken:
		return fail("not_allowed_token_type")
	case m.app && token != s.opts.AppToken, !m.app && token != s.opts.BotToken:
		return fail("invalid_auth")
	case s.revoked != "":
		return fail(s.revoked)
	case m.scope != "" && !slices.Contains(s.opts.Scopes, m.scope):
		e := &apiError{code: "missing_scope", extra: reply{"needed": m.scope, "provided": strings.Join(s.opts.Scopes, ",")}}
		return e
	}
	return nil
}

func (s *Server) answer(w http.ResponseWriter, name string, out reply, err error) {
	if out == nil {
		out = reply{}
	}
	out["ok"] = err == nil
	code := ""
	if err != nil {
		code = err.Error()
		out["error"] = code
		if e, ok := err.(*apiError); ok { //nolint:errorlint // made here, never wrapped
			maps.Copy(out, e.extra)
		}
	}
	s.note(name, code)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Oauth-Scopes", strings.Join(s.opts.Scopes, ","))
	_ = json.NewEncoder(w).Encode(out)
}

func (s *Server) note(name, code string) {
	s.counts[name]++
	if code != "" {
		s.counts[name+" "+code]++
	}
	s.wake()
	if len(s.calls) < maxCalls {
		s.calls = append(s.calls, Call{name, code})
	}
}

// Calls returns the calls so far, the oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count returns how often a method was called; "chat.update ratelimited" counts only calls with
// that error. "interactive", "events_api" and "slash_commands" count acknowledged deliveries.
func (s *Server) Count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[name]
}

// Revoke makes every call fail with a code such as "token_revoked" or "account_inactive"; ""
// restores the tokens.
func (s *Server) Revoke(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = code
}

// Outage makes every call fail with an HTTP status; 0 ends it.
func (s *Server) Outage(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = status
}

func (s *Server) authTest(args) (reply, error) {
	out := reply{"url": "https://home.slack.com/", "team": "Home", "user": "askbus", "team_id": s.opts.Team, "user_id": BotUser, "bot_id": BotID, "app_id": AppID, "is_enterprise_install": false}
	if s.opts.Enterprise != "" {
		out["enterprise_id"] = s.opts.Enterprise
	}
	return out, nil
}
