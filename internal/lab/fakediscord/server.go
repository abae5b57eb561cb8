// Package fakediscord is a fake of Discord for one bot, as far as the surface uses it: messages of components over the
// HTTP API v10, the gateway, interactions over the gateway or signed over HTTP, forms, and the limits of all of these.
//
// It refuses what Discord's documentation says that Discord refuses: components and texts over their limits, ids that
// repeat, content beside components, a reply after three seconds or twice, calls over the limits that its headers
// state, frames before identifying. It was never compared with Discord itself; package interop checks it with
// Discord's own client libraries.
package fakediscord

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/halfopen"
)

// The bot, its application and its server.
const (
	Token    = "fake.discord.token"
	App      = "100000000000000001"
	Bot      = "100000000000000002"
	Guild    = "100000000000000003"
	Everyone = Guild // the role of everybody has the id of the server
)

// Options tunes a [Server].
type Options struct {
	AckWithin time.Duration // default: 3 s
	Heartbeat time.Duration // interval of the gateway; default: 41.25 s
}

// User is a person or a bot.
type User struct {
	ID     string   `json:"id"`
	Name   string   `json:"username"`
	Global string   `json:"global_name"`
	Bot    bool     `json:"bot"`
	Roles  []string `json:"-"`
	Flags  int      `json:"-"` // as a member
	NoDMs  bool     `json:"-"`
}

// File is a file of a message.
type File struct {
	Name string
	Size int
}

// Message is a message as the fake holds it.
type Message struct {
	ID, Channel string
	Author      string
	Content     string
	Components  []Component
	Flags       int
	Nonce       string
	Edited      int
	Notified    []string // ids of users and roles
	ReplyTo     string
	Files       []File
	For         string // the only user who sees it; "": all
	at          time.Time
}

// Open reports whether the message has a control that sends something.
func (m *Message) Open() bool { return len(ids(m.Components)) > 0 }

// Shown returns what people read: texts, labels, options and addresses.
func (m *Message) Shown() string {
	var b strings.Builder
	b.WriteString(m.Content)
	each(m.Components, func(c *Component) {
		for _, s := range []string{c.Content, c.Label, c.URL} {
			if s != "" {
				b.WriteString("\n" + s)
			}
		}
		for _, o := range c.Options {
			b.WriteString("\n- " + o.Label + " " + o.Description)
		}
	})
	return b.String()
}

// Server is the fake. It is safe for concurrent use.
type Server struct {
	opts    Options
	http    *httptest.Server
	private ed25519.PrivateKey

	mu           sync.Mutex
	now          func() time.Time
	changed      chan struct{} // closed at every change
	users        map[string]User
	channels     map[string]string // id -> its user, or "" on the server
	roles        map[string]string
	messages     []*Message
	last         uint64
	interactions map[string]*Interaction
	commands     map[string]*command
	endpoint     string
	sessions     map[string]*session
	identified   int
	buckets      map[string]*bucket
	calls        map[string]int
	revoked      bool
	intercept    func(op, key string, done bool) (time.Duration, error)
}

// Start starts a fake. Close it.
func Start(opts Options) *Server {
	if opts.AckWithin <= 0 {
		opts.AckWithin = 3 * time.Second
	}
	if opts.Heartbeat <= 0 {
		opts.Heartbeat = 41250 * time.Millisecond
	}
	seed := sha(Token)
	s := &Server{
		opts: opts, private: ed25519.NewKeyFromSeed(seed[:]), now: time.Now, changed: make(chan struct{}),
		users: map[string]User{Bot: {ID: Bot, Name: "askbus", Bot: true}}, channels: map[string]string{}, roles: map[string]string{Everyone: "@everyone"},
		interactions: map[string]*Interaction{}, commands: map[string]*command{}, sessions: map[string]*session{}, buckets: map[string]*bucket{}, calls: map[string]int{},
	}
	s.http = httptest.NewUnstartedServer(s.handler())
	s.http.Listener = halfopen.Listen(s.http.Config, s.http.Listener)
	s.http.Start()
	return s
}

// URL returns the address of the API.
func (s *Server) URL() string { return s.http.URL + "/api/v10" }

// PublicKey returns the application's key in hex.
func (s *Server) PublicKey() string {
	key, _ := s.private.Public().(ed25519.PublicKey) // it is one
	return hex.EncodeToString(key)
}

// Close ends the fake.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// AddUser adds a member of the server.
func (s *Server) AddUser(u User) { s.locked(func() { s.users[u.ID] = u }) }

// AddChannel adds a channel of the server.
func (s *Server) AddChannel(id string) { s.locked(func() { s.channels[id] = "" }) }

// AddRole adds a role of the server.
func (s *Server) AddRole(id, name string) { s.locked(func() { s.roles[id] = name }) }

// SetClock makes the fake measure its limits with a clock.
func (s *Server) SetClock(now func() time.Time) { s.locked(func() { s.now = now }) }

// Revoke makes the token invalid.
func (s *Server) Revoke() {
	s.locked(func() {
		s.revoked = true
		for _, one := range s.sessions {
			one.drop(4004, "Authentication failed.")
		}
		s.sessions = map[string]*session{}
	})
}

// Intercept makes f run before and after each call that posts ("post"), edits ("edit") or reads messages ("find"),
// with the nonce of the message. An error fails the call; with a duration it is 429.
func (s *Server) Intercept(f func(op, key string, done bool) (time.Duration, error)) {
	s.locked(func() { s.intercept = f })
}

// Messages returns all messages that are not for one user alone.
func (s *Server) Messages() (all []Message) {
	s.locked(func() {
		for _, m := range s.messages {
			if m.For == "" {
				all = append(all, *m)
			}
		}
	})
	return all
}

// Delete deletes a message.
func (s *Server) Delete(id string) {
	s.locked(func() {
		for i, m := range s.messages {
			if m.ID == id {
				s.messages = append(s.messages[:i:i], s.messages[i+1:]...)
				return
			}
		}
	})
}

// Calls returns how often a pattern of the API was called, such as "429" for refused calls.
func (s *Server) Calls(pattern string) (n int) {
	s.locked(func() { n = s.calls[pattern] })
	return n
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.touch()
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

// id returns a new id, which says its time. The caller holds mu.
func (s *Server) id() string {
	const epoch = 1_420_070_400_000
	s.last = max(s.last+1, uint64(s.now().UnixMilli()-epoch)<<22) //nolint:gosec // after 2015
	return strconv.FormatUint(s.last, 10)
}

func (s *Server) find(channel, id string) *Message {
	for _, m := range s.messages {
		if m.Channel == channel && m.ID == id {
			return m
		}
	}
	return nil
}

// shown returns a message as the API does.
func (s *Server) shown(m *Message) map[string]any {
	out := map[string]any{
		"id": m.ID, "channel_id": m.Channel, "author": s.users[m.Author], "content": m.Content, "components": m.Components, "flags": m.Flags, "type": 0,
		"timestamp": m.at.UTC().Format(time.RFC3339), "edited_timestamp": nil, "tts": false, "mention_everyone": false,
		"mentions": []any{}, "mention_roles": []any{}, "attachments": []any{}, "embeds": []any{}, "pinned": false,
	}
	if m.Components == nil {
		out["components"] = []any{}
	}
	if m.Nonce != "" {
		out["nonce"] = m.Nonce
	}
	return out
}

func reply(w http.ResponseWriter, status int, v any) {
	if v == nil { // without a type: a client would read it
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}
