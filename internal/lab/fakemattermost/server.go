// Package fakemattermost is a fake of a Mattermost server for one bot, as far as the surface uses it: posts with message
// attachments, the calls of their buttons, dialogs, users, channels and their members, and a WebSocket that tells of posts.
//
// It refuses what the server refuses: a wrong token, posts to channels without the bot, messages over 16,383 characters,
// contexts over 50 entries or 2,048 characters, replies to no post of the channel, dialogs with long titles and without a fresh trigger. It shows posts to
// people without what their buttons carry, as the server does. With [Server.Limit] it answers 429. Mattermost's own client
// package accepts it (interop); it was never compared with a server.
package fakemattermost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/halfopen"
)

// Token is the bot's token, and Bot its id.
const (
	Token = "faketoken"
	Bot   = "botbotbotbotbotbotbotbotbo"
)

// User is a person or a bot.
type User struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	First    string `json:"first_name"`
	Locale   string `json:"locale"`
	Roles    string `json:"roles"`
	Bot      bool   `json:"is_bot"`
}

// Action is a button.
type Action struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Style       string `json:"style"`
	Integration struct {
		URL     string         `json:"url"`
		Context map[string]any `json:"context"`
	} `json:"integration"`
}

// Attachment is a message attachment.
type Attachment struct {
	Text    string   `json:"text"`
	Actions []Action `json:"actions"`
}

// Post is a post as the fake holds it.
type Post struct {
	ID      string `json:"id"`
	Channel string `json:"channel_id"`
	Root    string `json:"root_id"` // of the thread
	User    string `json:"user_id"`
	Message string `json:"message"`
	Props   struct {
		Attachments []Attachment `json:"attachments"`
		Key         string       `json:"askbus"`                 // that the surface gave it
		Webhook     string       `json:"from_webhook,omitempty"` // "true": by an incoming webhook, in a person's name
	} `json:"props"`
	Type    string   `json:"type"` // such as system_join_channel; empty: a person's
	FileIDs []string `json:"file_ids"`
	Edited  bool     `json:"-"` // other than by its first buttons
	Keys    []string `json:"-"` // of asks, that its buttons ever carried
	Deleted bool     `json:"-"`
}

// Actions returns the buttons.
func (p *Post) Actions() (all []Action) {
	for _, a := range p.Props.Attachments {
		all = append(all, a.Actions...)
	}
	return all
}

// Shown returns what people read.
func (p *Post) Shown() string {
	all := []string{p.Message}
	for _, a := range p.Props.Attachments {
		all = append(all, a.Text)
		for _, b := range a.Actions {
			all = append(all, "["+b.Name+"]")
		}
	}
	return strings.Join(all, "\n")
}

// Dialog is a dialog that somebody has before them.
type Dialog struct {
	User, Channel string
	URL           string
	State         string
	Title         string
	Introduction  string
}

// Server is the fake. It is safe for concurrent use.
type Server struct {
	http *httptest.Server

	mu        sync.Mutex
	users     map[string]User
	members   map[string]map[string]bool
	posts     []*Post
	triggers  map[string]string // user and channel, by trigger
	dialogs   []Dialog
	listeners map[*listener]bool
	heard     int // connections, ever
	sequence  int
	limited   int // the next calls are refused
	revoked   bool
	files     []File
	maxFile   int
	intercept func(method string, p *Post, done bool) (time.Duration, error)
}

// Start starts a fake. Close it.
func Start() *Server {
	s := &Server{users: map[string]User{Bot: {ID: Bot, Username: "askbus", Roles: "system_user", Bot: true}}, members: map[string]map[string]bool{}, triggers: map[string]string{}, listeners: map[*listener]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v4/users/{user}", s.called(s.user))
	mux.HandleFunc("GET /api/v4/channels/{channel}/members/{user}", s.called(s.member))
	mux.HandleFunc("GET /api/v4/channels/{channel}/stats", s.called(s.stats))
	mux.HandleFunc("POST /api/v4/channels/direct", s.called(s.direct))
	mux.HandleFunc("POST /api/v4/posts", s.called(s.create))
	mux.HandleFunc("POST /api/v4/files", s.called(s.upload))
	mux.HandleFunc("PUT /api/v4/posts/{post}/patch", s.called(s.patch))
	mux.HandleFunc("GET /api/v4/posts/{post}", s.called(s.get))
	mux.HandleFunc("POST /api/v4/actions/dialogs/open", s.called(s.open))
	mux.HandleFunc("GET /api/v4/users/me/channels", s.called(s.channels))
	mux.HandleFunc("GET /api/v4/channels/{channel}/posts", s.called(s.read))
	mux.HandleFunc("GET /api/v4/websocket", s.socket)
	s.http = httptest.NewUnstartedServer(mux)
	s.http.Listener = halfopen.Listen(s.http.Config, s.http.Listener)
	s.http.Start()
	return s
}

// URL returns the address of the server.
func (s *Server) URL() string { return s.http.URL }

// Close ends the fake.
func (s *Server) Close() {
	s.Drop() // which the server below does not know any more
	s.http.CloseClientConnections()
	s.http.Close()
}

// Add adds a user to channels. The bot is in each of these, and in no others.
func (s *Server) Add(u User, channels ...string) {
	s.locked(func() {
		if u.Roles == "" {
			u.Roles = "system_user"
		}
		s.users[u.ID] = u
		for _, c := range channels {
			if s.members[c] == nil {
				s.members[c] = map[string]bool{Bot: true}
			}
			s.members[c][u.ID] = true
		}
	})
}

// Limit makes the next calls be refused with 429.
func (s *Server) Limit(calls int) { s.locked(func() { s.limited = calls }) }

// Revoke makes the token invalid.
func (s *Server) Revoke() { s.locked(func() { s.revoked = true }) }

// Intercept makes f run before and after each call that posts, opens (adds the first buttons) or edits. An error fails the
// call; with a duration it is 429.
func (s *Server) Intercept(f func(method string, p *Post, done bool) (time.Duration, error)) {
	s.locked(func() { s.intercept = f })
}

// Posts returns all posts.
func (s *Server) Posts() (all []Post) {
	s.locked(func() {
		for _, p := range s.posts {
			if !p.Deleted {
				all = append(all, *p)
			}
		}
	})
	return all
}

// Delete deletes a post.
func (s *Server) Delete(id string) {
	s.locked(func() {
		if p := s.find(id); p != nil {
			p.Deleted = true
		}
	})
}

// Dialogs returns the dialogs that were opened.
func (s *Server) Dialogs() (all []Dialog) {
	s.locked(func() { all = append(all, s.dialogs...) })
	return all
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *Server) find(id string) *Post {
	for _, p := range s.posts {
		if p.ID == id && !p.Deleted {
			return p
		}
	}
	return nil
}

// next returns an id of 26 letters and digits. The caller holds mu.
func (s *Server) next() string {
	s.sequence++
	return fmt.Sprintf("p%025d", s.sequence)
}

// Press lets a person press a button of a post by its name, and returns what they are told.
func (s *Server) Press(ctx context.Context, user string, p *Post, name string) (told string, err error) {
	for _, a := range p.Actions() {
		if a.Name == name {
			return s.Call(ctx, user, p, a.Integration.URL, a.Integration.Context)
		}
	}
	return "", errors.New("no button is called " + name)
}

// Call makes the call of a button.
func (s *Server) Call(ctx context.Context, user string, p *Post, address string, content map[string]any) (told string, err error) {
	s.mu.Lock()
	trigger := s.next()
	s.triggers[trigger] = user + " " + p.Channel
	s.mu.Unlock()
	reply, err := send(ctx, address, map[string]any{"user_id": user, "post_id": p.ID, "channel_id": p.Channel, "team_id": "", "trigger_id": trigger, "context": content})
	told, _ = reply["ephemeral_text"].(string)
	return told, err
}

// Submit sends a dialog as a person, and returns what it says is wrong.
func (s *Server) Submit(ctx context.Context, user string, d Dialog, words string) (wrong string, err error) {
	reply, err := send(ctx, d.URL, map[string]any{"type": "dialog_submission", "callback_id": "answer", "state": d.State, "user_id": user, "channel_id": d.Channel, "team_id": "", "submission": map[string]string{"words": words}, "cancelled": false})
	errs, _ := reply["errors"].(map[string]any)
	wrong, _ = errs["words"].(string)
	return wrong, err
}

// send makes a call to the integration. The server gives up after 30 s.
func send(ctx context.Context, address string, body any) (reply map[string]any, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status=%d", res.StatusCode)
	}
	err = json.NewDecoder(res.Body).Decode(&reply)
	return reply, err
}
