package faketeams

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

const accessToken = "fake-access-token"

// token is the login service.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	revoked := s.revoked
	s.mu.Unlock()
	switch {
	case r.PathValue("tenant") != Tenant:
		write(w, http.StatusBadRequest, map[string]string{"error": "invalid_request", "error_description": "AADSTS90002: Tenant not found."})
	case revoked || r.Form.Get("client_id") != App || r.Form.Get("client_secret") != Secret:
		write(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."})
	case r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("scope") != "https://api.botframework.com/.default":
		write(w, http.StatusBadRequest, map[string]string{"error": "invalid_scope"})
	default:
		write(w, http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": accessToken})
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, code, words string) {
	write(w, status, map[string]any{"error": map[string]string{"code": code, "message": words}})
}

// connected checks what every call of the connector needs.
func (s *Server) connected(next func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		revoked, status := s.revoked, 0
		if s.fails > 0 {
			s.fails--
			status = s.failing
		}
		s.mu.Unlock()
		switch {
		case revoked || r.Header.Get("Authorization") != "Bearer "+accessToken:
			fail(w, http.StatusUnauthorized, "Unauthorized", "Authorization has been denied for this request.")
			return
		case status != 0:
			fail(w, status, http.StatusText(status), "for a moment")
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if 2*len(utf16.Encode([]rune(string(body)))) > 100_000 {
			fail(w, http.StatusRequestEntityTooLarge, "MessageSizeTooBig", "Message size too large.")
			return
		}
		next(w, r, body)
	}
}

// limited counts a call of a conversation, and refuses it beyond the limits.
func (s *Server) limited(w http.ResponseWriter, conversation string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return false
	}
	now, id := s.now(), base(conversation)
	for _, l := range []struct {
		n      int
		within time.Duration
	}{{7, time.Second}, {8, 2 * time.Second}, {60, 30 * time.Second}, {1800, time.Hour}} {
		if n := len(s.calls[id]); n >= l.n && now.Sub(s.calls[id][n-l.n]) < l.within {
			s.throttled++
			w.Header().Set("Retry-After", strconv.Itoa(int(l.within.Seconds())))
			fail(w, http.StatusTooManyRequests, "TooManyRequests", "API calls quota exceeded")
			return true
		}
	}
	s.calls[id] = append(s.calls[id], now)
	return false
}

func base(conversation string) string {
	id, _, _ := strings.Cut(conversation, ";")
	return id
}

// sent is an activity of the bot.
type sent struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Summary     string `json:"summary"`
	Importance  string `json:"importance"`
	Attachments []struct {
		ContentType string         `json:"contentType"`
		Content     map[string]any `json:"content"`
	} `json:"attachments"`
}

func (a *sent) check() (card map[string]any, err error) {
	switch {
	case a.Type != "message":
		return nil, errors.New("Activity must be of type message")
	case len(a.Attachments) == 0 && a.Text == "":
		return nil, errors.New("Activity must include non empty 'text' field or at least one attachment")
	case len(a.Attachments) == 0:
		return nil, nil
	case a.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive":
		return nil, errors.New("Unknown attachment type")
	}
	return a.Attachments[0].Content, check(a.Attachments[0].Content)
}

// create begins a thread in a channel.
func (s *Server) create(w http.ResponseWriter, r *http.Request, body []byte) {
	var c struct {
		Activity    sent `json:"activity"`
		ChannelData struct {
			Channel struct {
				ID string `json:"id"`
			} `json:"channel"`
		} `json:"channelData"`
	}
	_ = json.Unmarshal(body, &c)
	id := c.ChannelData.Channel.ID
	if !strings.HasSuffix(id, "@thread.tacv2") {
		fail(w, http.StatusBadRequest, "BadSyntax", "Incorrect conversation creation parameters")
		return
	}
	s.add(w, id, &c.Activity, true)
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, body []byte) {
	id := r.PathValue("conversation")
	var a sent
	_ = json.Unmarshal(body, &a)
	if strings.HasSuffix(id, "@thread.tacv2") {
		fail(w, http.StatusBadRequest, "BadSyntax", "a channel is not a conversation")
		return
	}
	s.add(w, id, &a, false)
}

// add posts a message, to a new thread if it is for a channel.
func (s *Server) add(w http.ResponseWriter, conversation string, a *sent, thread bool) {
	if s.limited(w, conversation) {
		return
	}
	card, err := a.check()
	if err != nil {
		fail(w, http.StatusBadRequest, "BadSyntax", err.Error())
		return
	}
	m := &Message{Conversation: conversation, Text: a.Text, Summary: a.Summary, Importance: a.Importance, Card: card, First: card}
	if !s.watch(w, "post", m, false) {
		return
	}
	s.mu.Lock()
	if s.members[base(conversation)] == nil {
		s.mu.Unlock()
		fail(w, http.StatusForbidden, "BotNotInConversationRoster", "The bot is not part of the conversation roster.")
		return
	}
	s.sequence++
	m.ID = fmt.Sprint(1_700_000_000_000 + s.sequence)
	if thread {
		m.Conversation += ";messageid=" + m.ID
	}
	s.messages = append(s.messages, m)
	s.mu.Unlock()
	if !s.watch(w, "post", m, true) {
		return
	}
	if thread {
		write(w, http.StatusCreated, map[string]string{"id": m.Conversation, "activityId": m.ID})
		return
	}
	write(w, http.StatusCreated, map[string]string{"id": m.ID})
}

func (s *Server) edit(w http.ResponseWriter, r *http.Request, body []byte) {
	if s.limited(w, r.PathValue("conversation")) {
		return
	}
	var a sent
	_ = json.Unmarshal(body, &a)
	card, err := a.check()
	if err != nil {
		fail(w, http.StatusBadRequest, "BadSyntax", err.Error())
		return
	}
	method := "edit"
	s.mu.Lock()
	m := s.find(r.PathValue("conversation"), r.PathValue("activity"))
	if next := (&Message{Card: card}); m != nil && m.Data() == nil && next.Open() {
		method = "open"
	}
	s.mu.Unlock()
	if m == nil {
		fail(w, http.StatusNotFound, "ActivityNotFoundInConversation", "The activity is not found")
		return
	}
	if !s.watch(w, method, m, false) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "open" { // people see it when the bot knows
		write(w, http.StatusOK, map[string]string{"id": m.ID})
		_ = http.NewResponseController(w).Flush()
	}
	m.Card, m.Text, m.Edits = card, a.Text, m.Edits+1
	if method == "open" {
		return
	}
	s.mu.Unlock()
	on := s.watch(w, method, m, true)
	s.mu.Lock()
	if on {
		write(w, http.StatusOK, map[string]string{"id": m.ID})
	}
}

// watch calls the interceptor, and reports whether the call goes on.
func (s *Server) watch(w http.ResponseWriter, method string, m *Message, done bool) bool {
	s.mu.Lock()
	f, seen := s.intercept, *m
	s.mu.Unlock()
	if f == nil {
		return true
	}
	after, err := f(method, &seen, done)
	switch {
	case err == nil:
		return true
	case after > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
		fail(w, http.StatusTooManyRequests, "TooManyRequests", err.Error())
	default:
		fail(w, http.StatusInternalServerError, "ServiceError", err.Error())
	}
	return false
}

func (s *Server) shown(p Person) map[string]any {
	return map[string]any{"id": p.ID(), "aadObjectId": p.Object, "name": p.Name, "userRole": p.Role, "tenantId": Tenant}
}

func (s *Server) member(w http.ResponseWriter, r *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := strings.TrimPrefix(r.PathValue("member"), "29:")
	if !s.members[base(r.PathValue("conversation"))][object] {
		fail(w, http.StatusNotFound, "MemberNotFoundInConversation", "The member is not part of the conversation.")
		return
	}
	write(w, http.StatusOK, s.shown(s.people[object]))
}

func (s *Server) paged(w http.ResponseWriter, r *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.members[base(r.PathValue("conversation"))]
	if in == nil {
		fail(w, http.StatusForbidden, "BotNotInConversationRoster", "The bot is not part of the conversation roster.")
		return
	}
	all := []any{}
	for object := range in {
		all = append(all, s.shown(s.people[object]))
	}
	write(w, http.StatusOK, map[string]any{"members": all})
}

// known are the elements and actions of Adaptive Cards 1.5 that the fake has seen used.
var known = []string{"AdaptiveCard", "TextBlock", "RichTextBlock", "TextRun", "ActionSet", "Container", "Input.Text", "Input.Number", "Input.Date", "Input.ChoiceSet", "Input.Toggle", "Action.Execute", "Action.Submit", "Action.OpenUrl", "Action.ShowCard"} //nolint:gochecknoglobals // never changed

// check returns what is wrong with a card.
func check(card map[string]any) error {
	if card["type"] != "AdaptiveCard" || card["version"] != "1.5" {
		return fmt.Errorf("not an Adaptive Card 1.5: %v %v", card["type"], card["version"])
	}
	var wrong error
	visit(card, func(e map[string]any) {
		typ, _ := e["type"].(string)
		switch {
		case typ == "mention":
		case !slices.Contains(known, typ):
			wrong = errors.Join(wrong, fmt.Errorf("unknown element %q", typ))
		case strings.HasPrefix(typ, "Input.") && e["id"] == nil:
			wrong = errors.Join(wrong, errors.New("an input without an id"))
		case typ == "Action.Execute" && (e["verb"] == nil || e["data"] == nil):
			wrong = errors.Join(wrong, errors.New("an action without a verb"))
		case typ == "TextRun" && e["text"] == "":
			wrong = errors.Join(wrong, errors.New("an empty run"))
		}
	})
	return wrong
}

// visit calls f for every object with a type in a card.
func visit(node any, f func(map[string]any)) {
	switch v := node.(type) {
	case map[string]any:
		if _, ok := v["type"].(string); ok {
			f(v)
		}
		for key, one := range v {
			if key != "data" && key != "fallback" {
				visit(one, f)
			}
		}
	case []any:
		for _, one := range v {
			visit(one, f)
		}
	}
}

// find returns the data of the action with a title: the innermost one, which an unfolded card has.
func find(card map[string]any, title string) (data map[string]any) {
	visit(card, func(e map[string]any) {
		if e["title"] == title && e["type"] == "Action.Execute" {
			data, _ = e["data"].(map[string]any)
		}
	})
	return data
}

// Open reports whether the message has an action that sends something.
func (m *Message) Open() bool { return m.Data() != nil && len(m.Titles()) > 0 }

// Titles returns the titles of the actions that send something.
func (m *Message) Titles() (all []string) {
	visit(m.Card, func(e map[string]any) {
		if t, ok := e["title"].(string); ok && t != "" && e["type"] == "Action.Execute" {
			all = append(all, t)
		}
	})
	return all
}

// Data returns the data of any action of the card, or nil.
func (m *Message) Data() (data map[string]any) {
	visit(m.Card, func(e map[string]any) {
		if d, ok := e["data"].(map[string]any); ok {
			data = d
		}
	})
	return data
}

// Shown returns what people read: texts, labels and addresses, in the order of the card's body.
func (m *Message) Shown() string {
	var b strings.Builder
	b.WriteString(m.Text)
	shown(&b, m.Card["body"])
	shown(&b, m.Card["actions"])
	return b.String()
}

func shown(b *strings.Builder, node any) {
	switch v := node.(type) {
	case map[string]any:
		for _, key := range []string{"text", "label", "title", "url"} {
			if text, ok := v[key].(string); ok {
				b.WriteString(text)
			}
		}
		for _, key := range []string{"inlines", "items", "choices", "actions", "card", "body"} {
			shown(b, v[key])
		}
		if v["type"] != "TextRun" {
			b.WriteString("\n")
		}
	case []any:
		for _, one := range v {
			shown(b, one)
		}
	}
}
