package discord

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/askbus/askbus/internal/answering/chat"
)

// direct is what a person wrote to the bot in private.
type direct struct {
	ID      string `json:"id"`
	Channel string `json:"channel_id"`
	Server  string `json:"guild_id"`
	Author  user   `json:"author"`
	Content string `json:"content"`
}

// readDirect decodes an event of the gateway; ok is false for all others.
func readDirect(typ string, data json.RawMessage) (m direct, ok bool) {
	ok = typ == "MESSAGE_CREATE" && json.Unmarshal(data, &m) == nil && m.Server == "" && !m.Author.Bot && m.Author.ID != ""
	return m, ok
}

// said returns a message of words that mentions nobody.
func said(words string) message {
	return message{Content: &words, Components: []component{}, Mentions: mentions{Parse: []string{}}}
}

// wrote handles a direct message: somebody who wants to be linked with a person of the inbox. Every replica hears it; one
// makes the code and replies.
func (s *App) wrote(ctx context.Context, m direct) {
	if !chat.SaysLink(m.Content) || !s.busy.Begin() {
		return
	}
	s.after.Go(func() {
		defer s.busy.End()
		told := s.LinkMeOnce(ctx, s.Speaks("", nil), m.Author.by(), s.opts.Token+"\x00"+m.ID)
		if told == "" {
			return
		}
		reply := said(told)
		reply.Nonce, reply.Enforce = "link"+m.ID, true
		if _, err := s.api.post(ctx, s.Now(), m.Channel, reply); err != nil {
			s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
		}
	})
}
