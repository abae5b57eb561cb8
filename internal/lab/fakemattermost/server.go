// Package fakemattermost is a fake of a Mattermost server for one bot, as far as the surface uses it: posts with message
// attachments, the calls of their buttons, dialogs, users, channels and their members.
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
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
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
		Key         string       `json:"askbus"` // that the surface gave it
	} `json:"props"`
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
	sequence  int
	limited   int // the next calls are refused
	revoked   bool
	intercept func(method string, p *Post, done bool) (time.Duration, error)
}

// Start starts a fake. Close it.
func Start() *Server {
	s := &Server{users: map[string]User{Bot: {ID: Bot, Username: "askbus", Roles: "system_user", Bot: true}}, members: map[string]map[string]bool{}, triggers: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v4/users/{user}", s.called(s.user))
	mux.HandleFunc("GET /api/v4/channels/{channel}/members/{user}", s.called(s.member))
	mux.HandleFunc("GET /api/v4/channels/{channel}/stats", s.called(s.stats))
	mux.HandleFunc("POST /api/v4/channels/direct", s.called(s.direct))
	mux.HandleFunc("POST /api/v4/posts", s.called(s.create))
	mux.HandleFunc("PUT /api/v4/posts/{post}/patch", s.called(s.patch))
	mux.HandleFunc("GET /api/v4/posts/{post}", s.called(s.get))
	mux.HandleFunc("POST /api/v4/actions/dialogs/open", s.called(s.open))
	mux.HandleFunc("GET /api/v4/users/me/channels", s.called(s.channels))
	mux.HandleFunc("GET /api/v4/channels/{channel}/posts", s.called(s.read))
	s.http = httptest.NewServer(mux)
	return s
}

// URL returns the address of the server.
func (s *Server) URL() string { return s.http.URL }

// Close ends the fake.
func (s *Server) Close() {
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

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, id, words string) {
	write(w, status, map[string]any{"id": id, "message": words, "status_code": status})
}

// called checks what every call needs.
func (s *Server) called(next func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		wrong, limited := s.revoked || !strings.EqualFold(r.Header.Get("Authorization"), "Bearer "+Token), s.limited > 0
		if limited {
			s.limited--
		}
		s.mu.Unlock()
		switch {
		case wrong:
			fail(w, http.StatusUnauthorized, "api.context.session_expired.app_error", "Invalid or expired session, please login again.")
			return
		case limited:
			tooMany(w, 1)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			next(w, r, body)
		}
	}
}

func tooMany(w http.ResponseWriter, seconds int) {
	w.Header().Set("X-RateLimit-Reset", strconv.Itoa(seconds))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	http.Error(w, "limit exceeded", http.StatusTooManyRequests)
}

func (s *Server) user(w http.ResponseWriter, r *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("user")
	if id == "me" {
		id = Bot
	}
	u, ok := s.users[id]
	if !ok {
		fail(w, http.StatusNotFound, "app.user.missing_account.const", "Unable to find the user.")
		return
	}
	write(w, http.StatusOK, u)
}

func (s *Server) member(w http.ResponseWriter, r *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, u := r.PathValue("channel"), r.PathValue("user")
	if !s.members[c][u] {
		fail(w, http.StatusNotFound, "app.channel.get_member.missing.app_error", "No channel member found for that user ID and channel ID.")
		return
	}
	write(w, http.StatusOK, map[string]string{"channel_id": c, "user_id": u, "roles": "channel_user"})
}

func (s *Server) stats(w http.ResponseWriter, r *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.members[r.PathValue("channel")]
	if in == nil {
		fail(w, http.StatusNotFound, "app.channel.get.existing.app_error", "Unable to find the existing channel.")
		return
	}
	write(w, http.StatusOK, map[string]any{"channel_id": r.PathValue("channel"), "member_count": len(in)})
}

func (s *Server) direct(w http.ResponseWriter, _ *http.Request, body []byte) {
	var two []string
	s.mu.Lock()
	defer s.mu.Unlock()
	if json.Unmarshal(body, &two) != nil || len(two) != 2 || s.users[two[1]].ID == "" {
		fail(w, http.StatusBadRequest, "api.channel.create_direct_channel.invalid_user.app_error", "Invalid user ID.")
		return
	}
	id := directWith(two[1])
	s.members[id] = map[string]bool{two[0]: true, two[1]: true}
	write(w, http.StatusCreated, map[string]string{"id": id, "type": "D"})
}

// check returns what the server would say against a post.
func check(p *Post) error {
	if utf8.RuneCountInString(p.Message) > 16_383 {
		return errors.New("the message is longer than 16,383 characters")
	}
	if strings.TrimSpace(p.Message) == "" && len(p.Props.Attachments) == 0 {
		return errors.New("invalid message")
	}
	seen := map[string]bool{}
	for _, a := range p.Actions() {
		if a.ID == "" || strings.ContainsAny(a.ID, "-_") || seen[a.ID] || a.Name == "" || a.Integration.URL == "" || len(a.Integration.Context) > 50 {
			return fmt.Errorf("invalid action %+v", a)
		}
		seen[a.ID] = true
		for key, value := range a.Integration.Context {
			if text, ok := value.(string); len(key) > 128 || ok && len(text) > 2048 {
				return fmt.Errorf("the value of %s is too long", key)
			}
		}
	}
	return nil
}

func (s *Server) create(w http.ResponseWriter, _ *http.Request, body []byte) {
	p := &Post{User: Bot}
	_ = json.Unmarshal(body, p)
	s.mu.Lock()
	in, root := s.members[p.Channel][Bot], s.find(p.Root)
	stray := p.Root != "" && (root == nil || root.Channel != p.Channel || root.Root != "")
	s.mu.Unlock()
	switch err := check(p); {
	case err != nil:
		fail(w, http.StatusBadRequest, "model.post.is_valid.app_error", err.Error())
		return
	case !in:
		fail(w, http.StatusForbidden, "api.context.permissions.app_error", "You do not have the appropriate permissions.")
		return
	case stray:
		fail(w, http.StatusBadRequest, "api.post.create_post.root_id.app_error", "Invalid RootId parameter.")
		return
	}
	if !s.watch(w, "post", p, false) {
		return
	}
	var seen Post
	s.locked(func() {
		p.ID = s.next()
		s.posts = append(s.posts, p)
		seen = stripped(*p)
	})
	if s.watch(w, "post", p, true) {
		write(w, http.StatusCreated, seen)
	}
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, body []byte) {
	var next Post
	_ = json.Unmarshal(body, &next)
	method := "edit"
	s.mu.Lock()
	p := s.find(r.PathValue("post"))
	if p != nil && len(p.Keys) == 0 && len(next.Actions()) > 0 {
		method = "open"
	}
	s.mu.Unlock()
	if p == nil {
		fail(w, http.StatusNotFound, "app.post.get.app_error", "Unable to get the post.")
		return
	}
	if err := check(&next); err != nil {
		fail(w, http.StatusBadRequest, "model.post.is_valid.app_error", err.Error())
		return
	}
	if !s.watch(w, method, p, false) {
		return
	}
	var seen Post
	s.locked(func() {
		if method == "open" { // people see it when the bot knows
			write(w, http.StatusOK, map[string]string{"id": p.ID})
			_ = http.NewResponseController(w).Flush()
		}
		p.Props, p.Edited = next.Props, p.Edited || method == "edit"
		for _, a := range p.Actions() {
			if key, ok := a.Integration.Context["ask"].(string); ok {
				p.Keys = append(p.Keys, key)
			}
		}
		seen = stripped(*p)
	})
	if method != "open" && s.watch(w, method, p, true) {
		write(w, http.StatusOK, seen)
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(r.PathValue("post"))
	if p == nil {
		fail(w, http.StatusNotFound, "app.post.get.app_error", "Unable to get the post.")
		return
	}
	write(w, http.StatusOK, stripped(*p))
}

// stripped returns a post as clients see it: without what its buttons carry.
func stripped(p Post) Post {
	list := p.Props.Attachments
	p.Props.Attachments = nil
	for _, a := range list {
		actions := a.Actions
		a.Actions = nil
		for _, b := range actions {
			b.Integration.URL, b.Integration.Context = "", nil
			a.Actions = append(a.Actions, b)
		}
		p.Props.Attachments = append(p.Props.Attachments, a)
	}
	return p
}

func (s *Server) watch(w http.ResponseWriter, method string, p *Post, done bool) bool {
	s.mu.Lock()
	f, seen := s.intercept, *p
	s.mu.Unlock()
	if f == nil {
		return true
	}
	after, err := f(method, &seen, done)
	switch {
	case err == nil:
		return true
	case after > 0:
		tooMany(w, int(after.Seconds()))
	default:
		fail(w, http.StatusInternalServerError, "app.error", err.Error())
	}
	return false
}

func (s *Server) open(w http.ResponseWriter, _ *http.Request, body []byte) {
	var o struct {
		Trigger string `json:"trigger_id"`
		URL     string `json:"url"`
		Dialog  struct {
			Title        string `json:"title"`
			Introduction string `json:"introduction_text"`
			State        string `json:"state"`
			Elements     []struct {
				Name    string `json:"name"`
				Display string `json:"display_name"`
				Type    string `json:"type"`
				Max     int    `json:"max_length"`
			} `json:"elements"`
		} `json:"dialog"`
	}
	_ = json.Unmarshal(body, &o)
	s.mu.Lock()
	defer s.mu.Unlock()
	by, ok := s.triggers[o.Trigger]
	switch {
	case !ok:
		fail(w, http.StatusBadRequest, "interactive_message.decode_trigger_id.expired", "Trigger ID for interactive dialog is expired.")
		return
	case o.URL == "" || o.Dialog.Title == "" || utf8.RuneCountInString(o.Dialog.Title) > 24:
		fail(w, http.StatusBadRequest, "app.dialog.open", "invalid title or url")
		return
	}
	for _, e := range o.Dialog.Elements {
		if e.Name == "" || utf8.RuneCountInString(e.Display) > 24 || e.Max > 3000 {
			fail(w, http.StatusBadRequest, "app.dialog.open", "invalid element")
			return
		}
	}
	delete(s.triggers, o.Trigger)
	user, channel, _ := strings.Cut(by, " ")
	s.dialogs = append(s.dialogs, Dialog{User: user, Channel: channel, URL: o.URL, State: o.Dialog.State, Title: o.Dialog.Title, Introduction: o.Dialog.Introduction})
	write(w, http.StatusOK, map[string]string{"status": "OK"})
}
