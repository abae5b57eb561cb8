package fakefeishu

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// refusal is what Feishu refuses, by the code in the body.
type refusal struct {
	status, code int
	msg          string
	reset        time.Duration
}

func refuse(code int, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, code: code, msg: fmt.Sprintf(format, args...)}
}

// lifetime is how long a token is valid.
const lifetime = 2 * time.Hour

// maxBody is the limit of a body, in bytes.
const maxBody = 30 << 10

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.URL.Path == "/ws" {
		s.connect(w, r)
		return
	}
	name := r.Method + " " + callName(r.URL.Path)
	s.mu.Lock()
	s.calls[name]++
	held, intercept := s.delays[name], s.intercept
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	var fields map[string]any
	_ = json.Unmarshal(body, &fields) // what is missing is refused below
	watched := intercept != nil && (name == "POST messages" || name == "PATCH messages")
	call := Call{Name: name}
	if watched {
		call.Button, call.First = s.named(r.URL.Path, fields)
	}
	fail := func(f *refusal) {
		if f.reset > 0 {
			w.Header().Set("X-Ogw-Ratelimit-Limit", "60")
			w.Header().Set("X-Ogw-Ratelimit-Reset", strconv.Itoa(int(f.reset.Seconds())))
		}
		reply(w, f.status, map[string]any{"code": f.code, "msg": f.msg})
	}
	intercepted := func(done bool) bool {
		call.Done = done
		after, err := intercept(call)
		switch {
		case err == nil:
			return false
		case after > 0:
			fail(&refusal{http.StatusTooManyRequests, 99991400, err.Error(), after})
		default:
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
		return true
	}
	if watched && intercepted(false) {
		return
	}
	s.mu.Lock()
	out, refused := s.call(name, r, body, fields)
	s.mu.Unlock()
	switch {
	case refused != nil:
		fail(refused)
	case watched && intercepted(true):
	default:
		reply(w, http.StatusOK, out)
	}
}

// callName shortens a path: "messages", "reply", "members".
func callName(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, name := range []string{"reply", "members", "messages", "chats", "users", "info", "internal", "endpoint", "images", "files"} {
		if slices.Contains(parts, name) {
			return name
		}
	}
	return path
}

// named returns the name of a button of the card that a call posts, or of the message that it edits, and whether the
// message was never edited.
func (s *Server) named(path string, fields map[string]any) (name string, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := Message{}
	_ = json.Unmarshal([]byte(fmt.Sprint(fields["content"])), &m.Card) // a text has none
	at := s.find(path[strings.LastIndex(path, "/")+1:])
	first = at != nil && at.Edits == 0
	for _, b := range m.Buttons() {
		return b.Name, first
	}
	if at != nil && len(at.seen) > 0 {
		return at.seen[0], first
	}
	return fmt.Sprint(fields["uuid"]), first
}

// call carries out a call. The caller holds mu.
func (s *Server) call(name string, r *http.Request, body []byte, fields map[string]any) (any, *refusal) {
	text := func(field string) string { v, _ := fields[field].(string); return v }
	ok := func(data map[string]any) (any, *refusal) {
		return map[string]any{"code": 0, "msg": "success", "data": data}, nil
	}
	switch name {
	case "POST internal":
		if text("app_id") != AppID || text("app_secret") != s.secret || s.secret == "" {
			return nil, &refusal{status: http.StatusOK, code: 10014, msg: "app secret invalid"}
		}
		return map[string]any{"code": 0, "msg": "ok", "tenant_access_token": s.token(), "expire": int(lifetime.Seconds())}, nil
	case "POST endpoint":
		if text("AppID") != AppID || text("AppSecret") != s.secret || s.secret == "" {
			return nil, &refusal{status: http.StatusOK, code: 514, msg: "app_id or app_secret is invalid"}
		}
		return ok(map[string]any{"URL": s.address(), "ClientConfig": clientConfig()})
	}
	if until, known := s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]; !known || !s.now().Before(until) {
		return nil, refuse(99991663, "Invalid access token for authorization")
	}
	if refused := s.throttled(name, 50, time.Second, 99991400); refused != nil {
		return nil, refused
	}
	if refused := s.throttled(name+" a minute", 1000, time.Minute, 99991400); refused != nil {
		return nil, refused
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch name {
	case "GET info":
		return map[string]any{"code": 0, "msg": "ok", "bot": map[string]any{"app_name": "askbus", "open_id": BotOpenID, "activate_status": 2}}, nil
	case "POST messages":
		if len(body) > maxBody {
			return nil, refuse(230025, "The length of the message content reaches its limit.")
		}
		return s.post(r.URL.Query().Get("receive_id_type"), text("receive_id"), text("msg_type"), text("content"), text("uuid"), "")
	case "POST reply":
		to := s.find(parts[len(parts)-2])
		if to == nil || to.Recalled {
			return nil, refuse(230011, "The message was recalled.")
		}
		return s.post("chat_id", to.Chat, text("msg_type"), text("content"), text("uuid"), to.ID)
	case "POST images", "POST files":
		return s.upload(name, r, body)
	case "PATCH messages":
		return s.patch(parts[len(parts)-1], text("content"), len(body))
	case "GET chats":
		if s.chats[parts[len(parts)-1]] == nil {
			return nil, refuse(232011, "Operator can NOT be out of the chat.")
		}
		return ok(map[string]any{"name": "a chat", "chat_type": "private"})
	case "GET members":
		return s.members(parts[len(parts)-2], r)
	case "GET users":
		u := s.user(parts[len(parts)-1])
		if u == nil || u.Hidden || r.URL.Query().Get("user_id_type") != "union_id" {
			return nil, refuse(41050, "no user authority error")
		}
		return ok(map[string]any{"user": map[string]any{"name": u.Name, "union_id": u.Union, "open_id": u.Open}})
	}
	return nil, &refusal{status: http.StatusNotFound, code: 99991000, msg: "no such call in this fake: " + name}
}

// mention is how a text mentions somebody, by their open_id or union_id.
var mention = regexp.MustCompile(`<at user_id="([^"]*)">[^<]*</at>`)

// token returns the tenant's token: the same one until its last half hour.
func (s *Server) token() string {
	for t, until := range s.tokens {
		if until.Sub(s.now()) > 30*time.Minute {
			return t
		}
	}
	t := fmt.Sprintf("t-%d", s.calls["POST internal"])
	s.tokens[t] = s.now().Add(lifetime)
	return t
}

// throttled counts a call against a limit in a time.
func (s *Server) throttled(what string, most int, within time.Duration, code int) *refusal {
	now := s.now()
	recent := slices.DeleteFunc(s.recent[what], func(at time.Time) bool { return now.Sub(at) >= within })
	if len(recent) >= most {
		s.recent[what] = recent
		return &refusal{http.StatusBadRequest, code, "request trigger frequency limit", time.Second}
	}
	s.recent[what] = append(recent, now)
	return nil
}

func (s *Server) post(typ, to, kind, content, uuid, parent string) (any, *refusal) {
	chat := to
	switch typ {
	case "chat_id":
	case "open_id", "union_id":
		u := s.user(to)
		if u == nil {
			return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid receive_id.")
		}
		chat = "oc_p2p" + strings.TrimPrefix(u.Open, "ou_")
	default:
		return nil, refuse(99992402, "field validation failed: receive_id_type")
	}
	if s.chats[chat] == nil {
		return nil, refuse(230002, "Bot/User can NOT be out of the chat.")
	}
	if len(uuid) > 50 {
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=uuid is too long.")
	}
	for _, m := range s.messages {
		if uuid != "" && m.Key == uuid && s.now().Sub(m.made) < time.Hour {
			return map[string]any{"code": 0, "msg": "success", "data": shown(m)}, nil
		}
	}
	m := &Message{Chat: chat, Kind: kind, Key: uuid, Parent: parent}
	switch kind {
	case "text":
		var t struct {
			Text string `json:"text"`
		}
		if json.Unmarshal([]byte(content), &t) != nil || t.Text == "" {
			return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid content.")
		}
		m.Text = t.Text
		for _, at := range mention.FindAllStringSubmatch(t.Text, -1) {
			u := s.user(at[1])
			if u == nil { // also "all", which the surface must never send
				return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid at user.")
			}
			m.Mentions = append(m.Mentions, u.Union)
		}
	case "interactive":
		card, refused := parse(content)
		if refused != nil {
			return nil, refused
		}
		m.show(card)
	case "image", "file":
		if refused := s.shows(m, kind, content); refused != nil {
			return nil, refused
		}
	default:
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid msg_type.")
	}
	if refused := s.throttled("chat "+chat, 5, time.Second, 230020); refused != nil {
		return nil, refused
	}
	return map[string]any{"code": 0, "msg": "success", "data": shown(s.add(m))}, nil
}

func shown(m *Message) map[string]any {
	return map[string]any{"message_id": m.ID, "chat_id": m.Chat, "msg_type": m.Kind, "parent_id": m.Parent, "create_time": strconv.FormatInt(m.made.UnixMilli(), 10)}
}

func (s *Server) patch(id, content string, size int) (any, *refusal) {
	m := s.find(id)
	switch {
	case m == nil:
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid message_id.")
	case m.Recalled:
		return nil, refuse(230011, "The message was recalled.")
	case m.From != "" || m.Kind != "interactive":
		return nil, refuse(230054, "This operation is not supported for this message type.")
	case s.now().Sub(m.made) > 14*24*time.Hour:
		return nil, refuse(230031, "The message is beyond the time in which it can be updated.")
	case size > maxBody:
		return nil, refuse(230025, "The length of the message content reaches its limit.")
	}
	card, refused := parse(content)
	if refused == nil {
		refused = s.throttled("message "+id, 5, time.Second, 230020)
	}
	if refused != nil {
		return nil, refused
	}
	m.Edits++
	m.show(card)
	s.touch()
	return map[string]any{"code": 0, "msg": "success", "data": map[string]any{}}, nil
}

// members returns a page of a chat's members.
func (s *Server) members(chat string, r *http.Request) (any, *refusal) {
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("page_size"))
	from, _ := strconv.Atoi(q.Get("page_token"))
	all := s.chats[chat]
	switch {
	case all == nil:
		return nil, refuse(232011, "Operator can NOT be out of the chat.")
	case q.Get("member_id_type") != "union_id" || size < 1 || size > 100:
		return nil, refuse(99992402, "field validation failed")
	}
	items := []any{}
	for _, id := range all[min(from, len(all)):min(from+size, len(all))] {
		u := s.user(id)
		items = append(items, map[string]any{"member_id": id, "member_id_type": "union_id", "name": u.Name, "tenant_key": u.Tenant})
	}
	return map[string]any{"code": 0, "msg": "success", "data": map[string]any{"items": items, "has_more": from+size < len(all), "page_token": strconv.Itoa(from + size), "member_total": len(all)}}, nil
}
