package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

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
	s.receive(waiting, intentDirect, func(_ context.Context, typ string, data json.RawMessage) {
		var m struct {
			Server  string `json:"guild_id"`
			Author  user   `json:"author"`
			Content string `json:"content"`
		}
		if typ != "MESSAGE_CREATE" || p.Person != "" || json.Unmarshal(data, &m) != nil {
			return
		}
		if m.Server == "" && !m.Author.Bot && m.Author.ID != "" && chat.SaysCode(m.Content, code) {
			p = chat.Paired{Person: m.Author.ID, Principal: Type + ":" + m.Author.ID, Name: cmp.Or(m.Author.Global, m.Author.Username)}
			stop()
		}
	})
	switch {
	case p.Person != "":
		return p, nil
	case ctx.Err() != nil:
		return p, ctx.Err()
	}
	return p, errors.New("discord: the token was refused")
}
