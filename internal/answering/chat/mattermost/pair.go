package mattermost

import (
	"context"
	"net/http"
	"net/url"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
)

// Bounds of waiting for a code: how often the bot's private chats are read, how many of them, and how much of each.
const (
	pairEvery = 2 * time.Second
	pairChats = 10
	pairPosts = "10"
)

type channel struct {
	ID   string `json:"id"`
	Type string `json:"type"` // "D": a private chat
	Last int64  `json:"last_post_at"`
}

// Pair reads the bot's latest private chats until a person says the code in one. It ignores all else. [App.Connect] comes
// before it.
func (s *App) Pair(ctx context.Context, code string) (chat.Paired, error) {
	seen := map[string]int64{} // when something was last written in a chat, as far as it was read
	for {
		p, err := s.paired(ctx, code, seen)
		switch {
		case p.Person != "":
			s.whisper(ctx, p.Person, s.Speaks("", nil).Say("Connected. Questions of agents come here."))
			return p, nil
		case refusedFor(err, http.StatusUnauthorized):
			return p, err
		case backoff.Sleep(ctx, pairEvery) != nil:
			return p, ctx.Err()
		}
	}
}

// paired returns who has said the code in a private chat with the bot, if anybody has.
func (s *App) paired(ctx context.Context, code string, seen map[string]int64) (none chat.Paired, err error) {
	var all []channel
	if err := s.api.call(ctx, s.Now(), http.MethodGet, "users/me/channels", nil, &all); err != nil {
		return none, err
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Last > all[j].Last })
	read := 0
	for _, c := range all {
		if c.Type != "D" || seen[c.ID] == c.Last {
			continue
		}
		if read++; read > pairChats {
			break
		}
		var got struct {
			Posts map[string]struct {
				User    string `json:"user_id"`
				Message string `json:"message"`
			} `json:"posts"`
		}
		if err := s.api.call(ctx, s.Now(), http.MethodGet, "channels/"+url.PathEscape(c.ID)+"/posts?per_page="+pairPosts, nil, &got); err != nil {
			return none, err
		}
		seen[c.ID] = c.Last
		for _, one := range got.Posts {
			if !chat.SaysCode(one.Message, code) {
				continue
			}
			u, err := s.api.user(ctx, one.User)
			if err != nil {
				delete(seen, c.ID) // again
				return none, err
			}
			if u.person(one.User) && !s.barred(&u) {
				return chat.Paired{Place: c.ID, Person: u.ID, Principal: s.proven(u.ID, &u).Principal, Name: u.name()}, nil
			}
		}
	}
	return none, nil
}
