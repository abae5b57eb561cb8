package fakemattermost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
	if strings.TrimSpace(p.Message) == "" && len(p.Props.Attachments) == 0 && len(p.FileIDs) == 0 {
		return errors.New("invalid message")
	}
	if len(p.FileIDs) > 10 {
		return errors.New("more than 10 files")
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
	if len(p.FileIDs) > 0 { // the server drops those that it does not know
		s.locked(func() {
			p.ID = s.next()
			p.FileIDs = s.attached(p)
			s.posts = append(s.posts, p)
			write(w, http.StatusCreated, *p)
		})
		return
	}
	if !s.watch(w, "post", p, false) {
		return
	}
	var seen Post
	s.locked(func() {
		p.ID = s.next()
		s.posts = append(s.posts, p)
		s.posted(p)
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
