package mattermost

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/askbus/askbus/internal/answering/chat"
)

// written is a post of an event.
type written struct {
	ID      string         `json:"id"`
	User    string         `json:"user_id"`
	Root    string         `json:"root_id"`
	Type    string         `json:"type"` // empty: of a person
	Message string         `json:"message"`
	Props   map[string]any `json:"props"`
}

// wrote handles a direct message: somebody who wants to be linked with a person of the inbox. Every replica hears it; one
// makes the code and replies.
func (s *App) wrote(ctx context.Context, post string) {
	var m written
	if json.Unmarshal([]byte(post), &m) != nil || m.Root != "" || m.Type != "" || !idForm.MatchString(m.User) || !chat.SaysLink(m.Message) {
		return
	}
	for _, program := range []string{"from_webhook", "from_bot", "from_plugin", "from_oauth_app"} { // they write in a person's name
		if m.Props[program] != nil {
			return
		}
	}
	if !s.busy.Begin() {
		return
	}
	s.after.Do(ctx, func(ctx context.Context) {
		defer s.busy.End()
		u, err := s.people.Person(ctx, m.User)
		if err != nil || !u.person(m.User) || s.barred(&u) {
			s.Log.InfoContext(ctx, "nobody who may answer wants to be linked", slog.String("user", m.User), slog.Any("error", err))
			return
		}
		before, link, after := chat.AroundLink(s.LinkMeOnce(ctx, s.Speaks(u.Locale, nil), s.proven(u.ID, &u), s.opts.Token+"\x00"+m.ID))
		s.write(ctx, u.ID, literal(before)+link+literal(after))
	})
}
