package fakemattermost

import (
	"net/http"
	"strconv"
	"strings"
)

// directWith returns the id of the bot's private chat with a person.
func directWith(user string) string { return "d" + user[:25] }

// kindOf returns the type of a channel: a private chat or an open one.
func kindOf(channel string) string {
	if strings.HasPrefix(channel, "d") {
		return "D"
	}
	return "O"
}

// Write lets a person write to the bot in private, and returns the post.
func (s *Server) Write(user, words string) Post { return s.WritePost(Post{User: user, Message: words}) }

// WritePost is Write for a post that is not just words. With a channel it is written there.
func (s *Server) WritePost(p Post) Post {
	s.locked(func() {
		if p.Channel == "" {
			p.Channel = directWith(p.User)
			s.members[p.Channel] = map[string]bool{Bot: true, p.User: true}
		}
		p.ID = s.next()
		s.posts = append(s.posts, &p)
		s.posted(&p)
	})
	return p
}

// Again tells everybody who listens of a private post once more, as after a lost connection.
func (s *Server) Again(p Post) { s.locked(func() { s.posted(&p) }) }

// channels lists the channels of the bot.
func (s *Server) channels(w http.ResponseWriter, _ *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]int{}
	for i, p := range s.posts {
		last[p.Channel] = i + 1
	}
	all := []map[string]any{}
	for id, in := range s.members {
		if in[Bot] {
			all = append(all, map[string]any{"id": id, "type": kindOf(id), "last_post_at": last[id]})
		}
	}
	write(w, http.StatusOK, all)
}

// read lists the latest posts of a channel that the bot is in.
func (s *Server) read(w http.ResponseWriter, r *http.Request, _ []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("channel")
	if !s.members[id][Bot] {
		fail(w, http.StatusForbidden, "api.context.permissions.app_error", "You do not have the appropriate permissions.")
		return
	}
	most, err := strconv.Atoi(r.FormValue("per_page"))
	if err != nil || most > 200 {
		most = 60
	}
	order, posts := []string{}, map[string]Post{}
	for i := len(s.posts) - 1; i >= 0 && len(order) < most; i-- {
		if p := s.posts[i]; p.Channel == id && !p.Deleted {
			order, posts[p.ID] = append(order, p.ID), stripped(*p)
		}
	}
	write(w, http.StatusOK, map[string]any{"order": order, "posts": posts})
}
