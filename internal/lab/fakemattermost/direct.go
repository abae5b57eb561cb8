package fakemattermost

import (
	"net/http"
	"strconv"
	"strings"
)

// directWith returns the id of the bot's private chat with a person.
func directWith(user string) string { return "d" + user[:25] }

// Write lets a person write to the bot in private.
func (s *Server) Write(user, words string) {
	s.locked(func() {
		id := directWith(user)
		s.members[id] = map[string]bool{Bot: true, user: true}
		s.posts = append(s.posts, &Post{ID: s.next(), Channel: id, User: user, Message: words})
	})
}

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
		if kind := "O"; in[Bot] {
			if strings.HasPrefix(id, "d") {
				kind = "D"
			}
			all = append(all, map[string]any{"id": id, "type": kind, "last_post_at": last[id]})
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
