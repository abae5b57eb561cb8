package slack

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/chat"

	slackapi "github.com/slack-go/slack"
)

// actionSay sends words as an answer. Its button is in an ephemeral message that only their writer
// sees.
const actionSay = "say"

// maxValue is the maximum length of a button's value.
const maxValue = 2000

// quietly sends a message about somebody's words, with buttons that send them, which only that person sees. Words that
// are too long for a button have none.
func (s *App) quietly(ctx context.Context, m message, by chat.Said, text string, offers []chat.Offer) {
	var buttons []slackapi.BlockElement
	for i := range offers {
		if value := offers[i].Value(); utf8.RuneCountInString(value) <= maxValue {
			buttons = append(buttons, button(actionSay+":"+strconv.Itoa(offers[i].N), offers[i].Label, value))
		}
	}
	blocks := []slackapi.Block{
		slackapi.NewSectionBlock(plain(text, maxSection), nil, nil),
		slackapi.NewContextBlock("", plain("“"+clip(chat.OneLine(by.Words), 300)+"”", 400)),
	}
	if len(buttons) > 0 {
		blocks = append(blocks, slackapi.NewActionBlock("", buttons...))
	}
	s.after.Do(ctx, func(ctx context.Context) {
		s.whisper(ctx, m, by.User, content{Text: clipBytes(escape(text), 1000), Blocks: blocks})
	})
}

// pressed sends the words of a button as their writer's answer.
func (s *App) pressed(ctx context.Context, in *interaction, act *action, who actor) {
	by, t, ok := chat.ParseSaid(act.Value)
	m := in.message()
	m.Thread = cmp.Or(m.Thread, by.Thread)
	switch {
	case !ok:
		return
	case by.User != who.User:
		s.notify(ctx, m, who.User, "Only the person who wrote this can send it.")
		return
	}
	rec, err := s.Bus.Get(ctx, t.Key)
	if err != nil || rec.Life != t.Life {
		s.lost(ctx, message{Channel: m.Channel, ID: by.Card, Thread: by.Thread}, who, rec, t, err)
		return
	}
	o := &chat.Open{Rec: &rec, Card: message{Channel: m.Channel, ID: by.Card}}
	if by.Thread != by.Card {
		o.Card.Thread = by.Thread
	}
	if len(rec.Ask.Questions) > 1 { // earlier answers are in the thread
		thread, _, err := s.thread(ctx, message{Channel: m.Channel, Thread: by.Thread}, who.User)
		if err != nil {
			s.Log.WarnContext(ctx, "cannot read a thread for earlier answers", slog.String("error", err.Error()))
		}
		for _, other := range thread.Open {
			if other.Rec.Ask.Key() == t.Key {
				o.Draft = other.Draft
			}
		}
	}
	s.acceptReply(ctx, m.Channel, by, o, who)
	s.after.Do(ctx, func(ctx context.Context) {
		if err := s.api.withdraw(ctx, in.ResponseURL); err != nil {
			s.Log.InfoContext(ctx, "cannot remove a message to a user", slog.String("error", err.Error()))
		}
	})
}
