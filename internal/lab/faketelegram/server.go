// Package faketelegram is a fake of Telegram's Bot API for one bot, as far as the surface uses it:
// messages with inline keyboards, edits, callback queries, ForceReply, getUpdates and webhooks.
//
// It refuses what the documentation says that Telegram refuses: texts over 4,096 UTF-16 units, data of
// buttons over 64 bytes, an edit that changes nothing, a second poller. How long a callback query lives
// and how many buttons a message takes is not documented, and not checked. It was never compared with
// Telegram itself.
package faketelegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Token is the bot's token, and Bot its id.
const (
	Token = "77:fake"
	Bot   = 77
)

// Button is a button of an inline keyboard.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Entity is a part of a text with a meaning. Offset and Length are UTF-16 units.
type Entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	URL    string `json:"url,omitempty"`
	User   *User  `json:"user,omitempty"`
}

// User is a person or a bot.
type User struct {
	ID    int64  `json:"id"`
	IsBot bool   `json:"is_bot"`
	First string `json:"first_name"`
}

// Message is a message as the fake holds it.
type Message struct {
	Chat     int64
	ID       int
	Topic    int
	Text     string
	Entities []Entity
	Keyboard [][]Button
	Force    bool // it asks for a reply
	ReplyTo  int
	From     User
	First    []Entity // of the text as it was sent
	Edited   bool     // its text was
	Seen     []string // data of all buttons that it ever had
	Deleted  bool
	Silent   bool   // it notifies nobody
	File     string // "photo" or "document", and its name
	Rich     bool   // Text is what its blocks say
	blocks   json.RawMessage
}

// Open reports whether the message has a button that sends something.
func (m *Message) Open() bool {
	for _, row := range m.Keyboard {
		for _, b := range row {
			if b.Data != "" {
				return true
			}
		}
	}
	return false
}

// Shown returns the text with the addresses that it links to and the labels of its buttons.
func (m *Message) Shown() string {
	var s strings.Builder
	s.WriteString(m.Text)
	for _, e := range m.Entities {
		s.WriteString("\n" + e.URL)
	}
	for _, row := range m.Keyboard {
		for _, b := range row {
			s.WriteString("\n[" + b.Text + "] " + b.URL)
		}
	}
	return s.String()
}

// Server is the fake. It is safe for concurrent use.
type Server struct {
	http *httptest.Server

	mu        sync.Mutex
	changed   chan struct{} // closed at every change
	users     map[int64]User
	members   map[int64]map[int64]bool // by chat
	messages  []*Message
	updates   []map[string]any
	update    int64
	poll      func() // ends the poller's request
	told      map[string]string
	calls     map[string]int
	revoked   bool
	forums    map[int64][]*Topic
	webhook   string
	secret    string // that is sent along
	repeats   int    // of each update of the webhook
	sending   sync.WaitGroup
	hosts     map[string]string
	conflicts int
	plainOnly bool // as a server from before rich messages
	intercept func(method, data string, done bool) (time.Duration, error)
}

// Start starts a fake. Close it.
func Start() *Server {
	s := &Server{
		changed: make(chan struct{}), users: map[int64]User{Bot: {Bot, true, "askbus"}}, members: map[int64]map[int64]bool{},
		told: map[string]string{}, hosts: map[string]string{}, calls: map[string]int{}, poll: func() {},
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL returns the address of the API.
func (s *Server) URL() string { return s.http.URL }

// Close ends the fake.
func (s *Server) Close() {
	s.mu.Lock()
	s.poll()
	s.mu.Unlock()
	s.sending.Wait()
	s.http.CloseClientConnections()
	s.http.Close()
}

// AddUser adds a person, who is a member of these chats.
func (s *Server) AddUser(u User, chats ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = u
	for _, chat := range append(chats, u.ID) {
		if s.members[chat] == nil {
			s.members[chat] = map[int64]bool{}
		}
		s.members[chat][u.ID] = true
	}
}

// SetWebhook sets the address of a webhook.
func (s *Server) SetWebhook(address string) { s.locked(func() { s.webhook = address }) }

// Revoke makes every call fail with 401, also a poll that is held.
func (s *Server) Revoke() { s.locked(func() { s.revoked = true; s.touch() }) }

// Intercept makes f run before and after each call of a method that sends or edits. Data is that of the
// message's buttons. An error fails the call; with a duration it is 429.
func (s *Server) Intercept(f func(method, data string, done bool) (time.Duration, error)) {
	s.locked(func() { s.intercept = f })
}

// Messages returns all messages.
func (s *Server) Messages() (all []Message) {
	s.locked(func() {
		for _, m := range s.messages {
			if !m.Deleted {
				all = append(all, *m)
			}
		}
	})
	return all
}

// Delete deletes a message, as a person may.
func (s *Server) Delete(chat int64, id int) {
	s.locked(func() {
		s.messages = slices.Clone(s.messages)
		for i, m := range s.messages {
			if m.Chat == chat && m.ID == id {
				gone := *m
				gone.Deleted, gone.Keyboard = true, nil
				s.messages[i] = &gone
			}
		}
		s.touch()
	})
}

// Calls returns how often a method was called.
func (s *Server) Calls(method string) (n int) {
	s.locked(func() { n = s.calls[method] })
	return n
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
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

func (s *Server) send(fields map[string]any) {
	s.update++
	fields["update_id"] = s.update
	if s.secret != "" {
		s.deliver(fields)
	} else {
		s.updates = append(s.updates, fields)
	}
	s.touch()
}

// Click lets a person press the button with a label, or data. It returns what the person is told once
// the query is answered; false: there is no such button, or ctx ended.
func (s *Server) Click(ctx context.Context, user int64, at Message, label string) (told string, ok bool) {
	s.mu.Lock()
	data := label
	for _, row := range at.Keyboard {
		for _, b := range row {
			if b.Text == label {
				data = b.Data
			}
		}
	}
	m := s.find(at.Chat, at.ID)
	if m == nil {
		s.mu.Unlock()
		return "", false
	}
	id := "q" + strconv.FormatInt(s.update+1, 10)
	s.send(map[string]any{"callback_query": map[string]any{"id": id, "from": s.users[user], "message": s.shown(m), "chat_instance": "1", "data": data}})
	s.mu.Unlock()
	ok = s.Await(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		told, ok = s.told[id]
		return ok
	})
	return told, ok
}

// Write lets a person write in a chat, as a reply to a message if it is not 0.
func (s *Server) Write(user, chat int64, text string, replyTo int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.add(&Message{Chat: chat, Text: text, ReplyTo: replyTo, From: s.users[user]})
	s.send(map[string]any{"message": s.shown(m)})
}

func (s *Server) add(m *Message) *Message {
	m.ID = len(s.messages) + 1
	s.messages = append(s.messages, m)
	s.touch()
	return m
}

func (s *Server) find(chat int64, id int) *Message {
	for _, m := range s.messages {
		if m.Chat == chat && m.ID == id && !m.Deleted {
			return m
		}
	}
	return nil
}

// shown returns a message as the API does.
func (s *Server) shown(m *Message) map[string]any {
	typ := "private"
	if m.Chat < 0 {
		typ = "supergroup"
	}
	out := map[string]any{"message_id": m.ID, "date": 1_700_000_000, "chat": map[string]any{"id": m.Chat, "type": typ}, "from": m.From, "text": m.Text, "entities": m.Entities}
	if m.Rich {
		delete(out, "text")
		delete(out, "entities")
		out["rich_message"] = map[string]any{"blocks": m.blocks}
	}
	if m.Keyboard != nil {
		out["reply_markup"] = map[string]any{"inline_keyboard": m.Keyboard}
	}
	if r := s.find(m.Chat, m.ReplyTo); r != nil {
		r := *r
		r.ReplyTo = 0
		out["reply_to_message"] = s.shown(&r)
	}
	return out
}

var errNotFound = errors.New("Bad Request: message to edit not found")

// check returns what the API would say against a text with a keyboard.
func check(text string, entities []Entity, keyboard [][]Button) error {
	n := len(utf16.Encode([]rune(text)))
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("Bad Request: message text is empty")
	case n > 4096:
		return errors.New("Bad Request: message is too long")
	}
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > n {
			return fmt.Errorf("Bad Request: entity %+v is outside the text of %d", e, n)
		}
		if e.Type == "text_mention" && (e.User == nil || e.User.ID <= 0) { // only people can be mentioned, chats cannot
			return errors.New("Bad Request: invalid user_id specified")
		}
	}
	for _, row := range keyboard {
		for _, b := range row {
			if b.Text == "" || len(b.Data) > 64 || b.Data == "" && b.URL == "" {
				return fmt.Errorf("Bad Request: BUTTON_DATA_INVALID %+v", b)
			}
		}
	}
	return nil
}

func unmarshal(s string, into any) {
	if s != "" {
		_ = json.Unmarshal([]byte(s), into) // an invalid one is as none: the checks notice
	}
}
