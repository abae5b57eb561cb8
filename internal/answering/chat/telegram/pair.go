package telegram

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/go-telegram/bot/models"
)

// Pair waits until a person sends the code to the bot in a private chat, or opens the link of [App.Invite]. It confirms
// all other updates unread. [App.Connect] comes before it, and nothing else may poll.
func (s *App) Pair(ctx context.Context, code string) (chat.Paired, error) {
	offset := int64(0)
	for {
		updates, err := s.api.updates(ctx, offset, pollFor)
		switch {
		case ctx.Err() != nil:
			return chat.Paired{}, ctx.Err()
		case errors.Is(err, errRival), errors.Is(err, errRevoked):
			return chat.Paired{}, err
		case err != nil:
			_ = backoff.Sleep(ctx, time.Second) // fails only when ctx ends, which the next poll says
			continue
		}
		for _, u := range updates {
			offset = max(offset, u.ID+1)
			if p, ok := paired(u.Message, code); ok {
				_, _ = s.api.updates(ctx, offset, 0) // confirms it; if that fails, the next poller gets the message again
				s.notify(ctx, place{Chat: u.Message.Chat.ID}, s.Speaks(u.Message.From.LanguageCode, nil).Say("Connected. Questions of agents come here."))
				return p, nil
			}
		}
	}
}

// paired returns whom a message pairs: a person, in a private chat, who says nothing but the code.
func paired(m *models.Message, code string) (p chat.Paired, ok bool) {
	if m == nil || m.From == nil || m.From.IsBot || m.Chat.Type != models.ChatTypePrivate {
		return p, false
	}
	said := strings.TrimPrefix(m.Text, "/start ")
	if !chat.SaysCode(said, code) {
		return p, false
	}
	by := member(m.From)
	return chat.Paired{Place: strconv.FormatInt(m.Chat.ID, 10), Person: strconv.FormatInt(m.From.ID, 10), Principal: by.Principal, Name: by.Name}, true
}

// Invite returns a link that sends the code, once the person presses Start.
func (s *App) Invite(code string) string {
	name := ""
	if me := s.me.Load(); me != nil {
		name = me.Username
	}
	return "https://t.me/" + name + "?start=" + strings.ReplaceAll(code, "-", "")
}
