// Package fakefeishu is a fake of Feishu's open platform for one app, as far as the surface uses it: tokens, messages
// with cards (JSON 2.0), chats and their members, the long connection, and the sender of webhooks.
//
// It refuses what the documentation says that Feishu refuses: wrong or old tokens, bodies over 30 KB, cards with over 200
// elements, with fields that their element does not have, or with a form that cannot be sent, more than 5 calls a second
// to one chat or message, edits of recalled messages, answers to a click after three seconds. It was never compared with
// Feishu itself; interop checks it with Feishu's own SDK for Node.js.
package fakefeishu

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/halfopen"
)

// The app and its tenant.
const (
	AppID             = "cli_0123456789abcdef"
	AppSecret         = "fake-secret"
	EncryptKey        = "fake-encrypt-key"
	VerificationToken = "fake-verification" //nolint:gosec // of a fake
	Tenant            = "tenant1"
	BotOpenID         = "ou_bot"
)

// User is a person.
type User struct {
	Union, Open string
	Name        string
	Tenant      string // default: the app's
	Hidden      bool   // the app may not read them in the directory
}

// Message is a message as the fake holds it.
type Message struct {
	ID, Chat string
	Kind     string // interactive, text, image, file
	File     string // name of an image or a file
	Text     string // of a text
	Card     map[string]any
	Key      string // uuid
	From     string // union_id; empty: the bot
	Parent   string
	Mentions []string // union_ids, of a text
	Recalled bool
	Edits    int
	seen     []string
	made     time.Time
}

// Server is the fake. It is safe for concurrent use.
type Server struct {
	http *httptest.Server

	mu        sync.Mutex
	now       func() time.Time
	changed   chan struct{} // closed at every change
	users     []User
	chats     map[string][]string // union_ids of members
	messages  []*Message
	files     map[string]upload
	noFiles   bool                 // the app may not upload
	tokens    map[string]time.Time // until when each is valid
	recent    map[string][]time.Time
	calls     map[string]int
	secret    string
	intercept func(Call) (time.Duration, error)
	conns     []*connection
	fragment  int
	within    time.Duration
	events    int
	webhook   string
	delays    map[string]chan struct{}
}

// Start starts a fake. Close it.
func Start() *Server {
	s := &Server{
		now: time.Now, changed: make(chan struct{}), chats: map[string][]string{}, tokens: map[string]time.Time{}, recent: map[string][]time.Time{},
		calls: map[string]int{}, secret: AppSecret, delays: map[string]chan struct{}{}, files: map[string]upload{}, within: 3 * time.Second,
	}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Listener = halfopen.Listen(s.http.Config, s.http.Listener)
	s.http.Start()
	return s
}

// URL returns the address of the platform.
func (s *Server) URL() string { return s.http.URL }

// Close ends the fake.
func (s *Server) Close() {
	s.Disconnect()
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// SetNow makes the fake's limits count by a clock.
func (s *Server) SetNow(now func() time.Time) { s.locked(func() { s.now = now }) }

// AddUser adds a person, who is a member of these chats, in which the bot is as well.
func (s *Server) AddUser(u User, chats ...string) {
	s.locked(func() {
		s.users = append(s.users, u)
		for _, c := range append(chats, "oc_p2p"+strings.TrimPrefix(u.Open, "ou_")) {
			s.chats[c] = append(s.chats[c], u.Union)
		}
	})
}

// AnswerWithin sets how long the fake waits for the answer to an event: 3 s by default, as Feishu does. Tests of something
// else wait longer, for a machine that is busy.
func (s *Server) AnswerWithin(d time.Duration) { s.locked(func() { s.within = d }) }

// Revoke makes the app's secret, and every token that it gave, invalid.
func (s *Server) Revoke() { s.locked(func() { s.secret = ""; clear(s.tokens) }) }

// Expire makes every token invalid that was given so far.
func (s *Server) Expire() { s.locked(func() { clear(s.tokens) }) }

// Fragment makes the long connection split events into parts of so many bytes.
func (s *Server) Fragment(bytes int) { s.locked(func() { s.fragment = bytes }) }

// Hold makes calls whose name begins so wait until the returned function is called.
func (s *Server) Hold(call string) (release func()) {
	held := make(chan struct{})
	s.locked(func() { s.delays[call] = held })
	return sync.OnceFunc(func() {
		s.locked(func() { delete(s.delays, call) })
		close(held)
	})
}

// Call is a post or an edit of a card.
type Call struct {
	Name   string // "POST messages" or "PATCH messages"
	Button string // the name of one of the card's buttons, or the uuid of the post
	First  bool   // the first edit
	Done   bool   // it took effect; false: it is about to
}

// Intercept makes f run before and after each post and edit of a card. An error fails the call; with a duration it is
// refused for that long.
func (s *Server) Intercept(f func(Call) (time.Duration, error)) {
	s.locked(func() { s.intercept = f })
}

// Recall deletes a message.
func (s *Server) Recall(id string) {
	s.locked(func() {
		if m := s.find(id); m != nil {
			m.Recalled = true
		}
		s.touch()
	})
}

// Calls returns how often a call was made, such as "PATCH messages".
func (s *Server) Calls(name string) (n int) {
	s.locked(func() { n = s.calls[name] })
	return n
}

// Messages returns all messages.
func (s *Server) Messages() (all []Message) {
	s.locked(func() {
		for _, m := range s.messages {
			all = append(all, *m)
		}
	})
	return all
}

// Await waits until a condition holds; it is checked after every change.
func (s *Server) Await(ctx context.Context, holds func() bool) bool {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// touch reports a change. The caller holds mu.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) find(id string) *Message {
	for _, m := range s.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// user returns a user by either id, of the app's tenant if it says none.
func (s *Server) user(id string) *User {
	at := slices.IndexFunc(s.users, func(u User) bool { return u.Union == id || u.Open == id })
	if at < 0 {
		return nil
	}
	u := s.users[at]
	if u.Tenant == "" {
		u.Tenant = Tenant
	}
	return &u
}

// add stores a message. The caller holds mu.
func (s *Server) add(m *Message) *Message {
	m.ID, m.made = fmt.Sprintf("om_%06d", len(s.messages)+1), s.now()
	s.messages = append(s.messages, m)
	s.touch()
	return m
}

// show sets the card of a message.
func (m *Message) show(card map[string]any) {
	m.Card = card
	for _, b := range m.Buttons() {
		m.seen = append(m.seen, b.Name)
	}
}

// Seen returns the names of all buttons that the message ever had.
func (m *Message) Seen() []string { return m.seen }

// Button is a button of a card that sends something.
type Button struct {
	Label, Name string
	Confirm     bool
	Form        map[string]any // that it sends; nil: none
	Value       any
}

// Buttons returns the buttons of the card.
func (m *Message) Buttons() (all []Button) {
	walk(m.Card, nil, func(el, form map[string]any) {
		if el["tag"] != "button" {
			return
		}
		text, _ := el["text"].(map[string]any)
		b := Button{Label: fmt.Sprint(text["content"]), Confirm: el["confirm"] != nil}
		if el["form_action_type"] == "submit" {
			b.Name, b.Form = fmt.Sprint(el["name"]), form
			all = append(all, b)
			return
		}
		behaviors, _ := el["behaviors"].([]any)
		for _, one := range behaviors {
			if do, _ := one.(map[string]any); do["type"] == "callback" {
				b.Value = do["value"]
				value, _ := b.Value.(map[string]any)
				b.Name = fmt.Sprint(value["name"])
				all = append(all, b)
			}
		}
	})
	return all
}

// Open reports whether the message has a button that sends something.
func (m *Message) Open() bool { return len(m.Buttons()) > 0 }

// Shown returns all words of the message, as a client shows them, and the addresses of its links.
func (m *Message) Shown() string {
	words := []string{m.Text}
	walk(m.Card, nil, func(el, _ map[string]any) {
		if s, ok := el["content"].(string); ok {
			words = append(words, decoded(s))
		}
		behaviors, _ := el["behaviors"].([]any)
		for _, one := range behaviors {
			if do, _ := one.(map[string]any); do["type"] == "open_url" {
				words = append(words, fmt.Sprint(do["default_url"]))
			}
		}
	})
	return strings.Join(words, "\n")
}

// walk passes each element, and the form that it is in.
func walk(v any, form map[string]any, f func(el, form map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if v["tag"] != nil {
			f(v, form)
		}
		if v["tag"] == "form" {
			form = v
		}
		for _, name := range []string{"header", "title", "body", "elements", "text", "options", "placeholder"} {
			walk(v[name], form, f)
		}
	case []any:
		for _, one := range v {
			walk(one, form, f)
		}
	}
}

// decoded replaces the entities of Markdown.
func decoded(s string) string {
	for code := range 127 {
		s = strings.ReplaceAll(s, fmt.Sprintf("&#%d;", code), string(rune(code)))
	}
	return strings.ReplaceAll(s, "**", "")
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
