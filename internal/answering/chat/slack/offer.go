package slack

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/chat"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	slackapi "github.com/slack-go/slack"
)

// actionSay sends words as an answer. Its button is in an ephemeral message that only their writer
// sees.
const actionSay = "say"

// said is what a button carries that sends words of a thread as an answer.
type said struct {
	Target string `json:"t"`           // the ask, as [chat.Ref.Question]
	Whole  bool   `json:"a,omitempty"` // the words are for the whole ask, not for the target's question
	Card   string `json:"c,omitempty"` // timestamp
	User   string `json:"u"`           // who wrote them
	TS     string `json:"r"`           // the message that they are in
	Thread string `json:"h"`
	Words  string `json:"w"`
}

// question returns the question that the words are for, or nil: the whole ask.
func (b *said) question(a *ask.Ask) *ask.Question {
	t, ok := chat.ParseRef(b.Target)
	if !ok || b.Whole || t.Q >= len(a.Questions) {
		return nil
	}
	return &a.Questions[t.Q]
}

// maxValue is the maximum length of a button's value.
const maxValue = 2000

// sayButton returns a button that sends words as an answer, or nil if they are too long for it.
func sayButton(n int, label string, b said) slackapi.BlockElement {
	data, err := json.Marshal(b)
	if err != nil || utf8.RuneCount(data) > maxValue {
		return nil
	}
	return button(actionSay+":"+strconv.Itoa(n), label, string(data))
}

// offer tells the writer of words that they were not taken as an answer, with a button for each open
// ask that sends them as one.
func (s *App) offer(ctx context.Context, m message, by said, open []opened) {
	s.meet(ctx, by.User)
	l := s.speaks(by.User, &open[0].rec.Ask)
	var buttons []slackapi.BlockElement
	for i := range open[:min(len(open), maxOpen)] {
		o := &open[i]
		by.Target, by.Whole, by.Card = chat.Ref{Key: o.rec.Ask.Key(), Life: o.rec.Life}.Question(), true, o.card.TS
		label := l.Say("Send this as the answer")
		if len(open) > 1 {
			label = l.Say("Answer: %s", card.Heading(&o.rec.Ask))
		}
		if b := sayButton(i, label, by); b != nil {
			buttons = append(buttons, b)
		}
	}
	text := l.Say("This was not taken as an answer, because people also talk in threads. Begin with “answer:” to answer.")
	if len(open) > 1 {
		text = l.Say("This was not taken as an answer: several questions are open in this thread.")
	}
	s.quietly(ctx, m, by, text, buttons)
}

// offerQuestions asks the writer of words which of an ask's questions they answer.
func (s *App) offerQuestions(ctx context.Context, m message, by said, o *opened, questions []int, why string) {
	by.Whole, by.Card = false, o.card.TS
	var buttons []slackapi.BlockElement
	for _, q := range questions {
		by.Target = chat.Ref{Key: o.rec.Ask.Key(), Life: o.rec.Life, Q: q}.Question()
		text := o.rec.Ask.Questions[q].Header
		if text == "" {
			text = card.InlinePlain(oneLine(o.rec.Ask.Questions[q].Text))
		}
		if b := sayButton(q, strconv.Itoa(q+1)+". "+text, by); b != nil {
			buttons = append(buttons, b)
		}
	}
	s.quietly(ctx, m, by, why, buttons)
}

// quietly sends a message with buttons about somebody's words, which only that person sees.
func (s *App) quietly(ctx context.Context, m message, by said, text string, buttons []slackapi.BlockElement) {
	blocks := []slackapi.Block{
		slackapi.NewSectionBlock(plain(text, maxSection), nil, nil),
		slackapi.NewContextBlock("", plain("“"+clip(oneLine(by.Words), 300)+"”", 400)),
	}
	if len(buttons) > 0 {
		blocks = append(blocks, slackapi.NewActionBlock("", buttons...))
	}
	s.background(ctx, func(ctx context.Context) {
		s.whisper(ctx, m, by.User, content{Text: clipBytes(escape(text), 1000), Blocks: blocks})
	})
}

// pressed sends the words of a button as their writer's answer.
func (s *App) pressed(ctx context.Context, in *interaction, act *action, who actor) {
	var by said
	t, ok := chat.Ref{}, json.Unmarshal([]byte(act.Value), &by) == nil
	if ok {
		t, ok = chat.ParseRef(by.Target)
	}
	m := in.message()
	if m.Thread == "" {
		m.Thread = by.Thread
	}
	switch {
	case !ok:
		return
	case by.User != who.User:
		s.tell(ctx, m, who.User, "Only the person who wrote this can send it.")
		return
	}
	rec, err := s.bus.Get(ctx, t.Key)
	if err != nil || rec.Life != t.Life {
		s.lost(ctx, message{Channel: m.Channel, TS: by.Card, Thread: by.Thread}, who, rec, t, err)
		return
	}
	o := &opened{rec: &rec, card: message{Channel: m.Channel, TS: by.Card}}
	if by.Thread != by.Card {
		o.card.Thread = by.Thread
	}
	if len(rec.Ask.Questions) > 1 { // earlier answers are in the thread
		messages, _, err := s.api.history(ctx, m.Channel, by.Thread, window{}, maxThreadPages)
		if err != nil {
			s.log.WarnContext(ctx, "cannot read a thread for earlier answers", slog.String("error", err.Error()))
		}
		for _, other := range s.openIn(ctx, messages, message{Channel: m.Channel, Thread: by.Thread}, who.User).open {
			if other.rec.Ask.Key() == t.Key {
				o.draft = other.draft
			}
		}
	}
	s.take(ctx, m.Channel, by, o, who)
	s.background(ctx, func(ctx context.Context) {
		if err := s.api.withdraw(ctx, in.ResponseURL); err != nil {
			s.log.InfoContext(ctx, "cannot remove a message to a user", slog.String("error", err.Error()))
		}
	})
}
