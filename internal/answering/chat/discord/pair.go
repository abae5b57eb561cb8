package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/askbus/askbus/internal/answering/chat"
)

// intentDirect makes the gateway send the bot's direct messages, with their text.
const intentDirect = 1 << 12

// Pair waits until somebody writes a code to the bot in private, and ignores all else.
func (s *App) Pair(ctx context.Context, code string) (p chat.Paired, err error) {
	if _, err := s.Connect(ctx); err != nil {
		return p, err
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	private := ""
	s.receive(waiting, intentDirect, func(_ context.Context, typ string, data json.RawMessage) {
		var m struct {
			Channel string `json:"channel_id"`
			Server  string `json:"guild_id"`
			Author  user   `json:"author"`
			Content string `json:"content"`
		}
		if typ != "MESSAGE_CREATE" || p.Person != "" || json.Unmarshal(data, &m) != nil {
			return
		}
		if m.Server == "" && !m.Author.Bot && m.Author.ID != "" && chat.SaysCode(m.Content, code) {
			p = chat.Paired{Person: m.Author.ID, Principal: Type + ":" + m.Author.ID, Name: cmp.Or(m.Author.Global, m.Author.Username)}
			private = m.Channel
			stop()
		}
	})
	switch {
	case p.Person != "":
		told := s.Speaks("", nil).Say("Connected. Questions of agents come here.")
		if _, err := s.api.post(ctx, s.Now(), private, message{Content: &told, Components: []component{}, Mentions: mentions{Parse: []string{}}}); err != nil {
			s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
		}
		return p, nil
	case ctx.Err() != nil:
		return p, ctx.Err()
	}
	return p, errors.New("discord: the token was refused")
}
