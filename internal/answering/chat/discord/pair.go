package discord

import (
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
		if m, ok := readDirect(typ, data); ok && p.Person == "" && chat.SaysCode(m.Content, code) {
			p = chat.Paired{Person: m.Author.ID, Principal: m.Author.by().Principal, Name: m.Author.by().Name}
			private = m.Channel
			stop()
		}
	})
	switch {
	case p.Person != "":
		told := s.Speaks("", nil).Say("Connected. Questions of agents come here.")
		if _, err := s.api.post(ctx, s.Now(), private, said(told)); err != nil {
			s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
		}
		return p, nil
	case ctx.Err() != nil:
		return p, ctx.Err()
	}
	return p, errors.New("discord: the token was refused")
}
