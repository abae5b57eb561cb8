package telegram

import (
	"cmp"
	"context"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/go-telegram/bot/models"
)

// pressed handles a button, and ends its query with what to tell the person.
func (s *App) pressed(ctx context.Context, q *models.CallbackQuery) {
	told := ""
	if id, data, ok := strings.Cut(q.Data, ":"); ok && len(id) == 24 {
		m := at(q)
		t := s.turn(ctx, id, &q.From, q.Message.Message, m)
		t.At, t.ID = m.ref(), chat.AnswerID(Type, q.ID)
		told = s.Press(ctx, t, data)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endFor) // ctx may be over: the bus did not reply
	defer cancel()
	if err := s.api.answer(end, q.ID, told); err != nil {
		s.Log.InfoContext(ctx, "cannot end a query of Telegram", slog.String("error", err.Error()))
	}
}

// at returns the message of a query.
func at(q *models.CallbackQuery) (p place) {
	if m := q.Message.Message; m != nil {
		return place{Chat: m.Chat.ID, Topic: m.MessageThreadID, ID: m.ID, Rich: m.Text == ""}
	}
	if m := q.Message.InaccessibleMessage; m != nil {
		return place{Chat: m.Chat.ID, ID: m.MessageID}
	}
	return p
}

// turn is what a user did with a message of this bot about an ask. Words go near a message.
func (s *App) turn(ctx context.Context, id string, u *models.User, m *models.Message, near place) *chat.Turn {
	user, l := strconv.FormatInt(u.ID, 10), s.Speaks(u.LanguageCode, nil)
	_, _, d, _ := s.marked(m)
	return &chat.Turn{
		Post: keyOf(id), User: user, Lang: l, Held: d,
		By: func(a *ask.Ask) (ask.By, string) { return s.by(ctx, l, u, user, a) },
		Prompt: func(rec *ask.Record, d chat.Draft, question string) error {
			view := s.drawn(rec, "")
			return s.prompt(ctx, l, near, u, view.mark(d), question)
		},
	}
}

// by returns the person for the broker, or why they may not act at all.
func (s *App) by(ctx context.Context, l *lang.Language, who *models.User, id string, a *ask.Ask) (ask.By, string) {
	by := member(who)
	if who.IsBot { // and anonymous administrators, who come as a bot
		return by, l.Say("Only a person can answer; anonymous administrators and bots cannot.")
	}
	s.Identify(ctx, &by, id, a, func(group string) (bool, error) { return s.people.In(ctx, group+"/"+id, id) })
	return by, ""
}

// member returns a user as Telegram proves them.
func member(who *models.User) ask.By {
	id := strconv.FormatInt(who.ID, 10)
	return ask.By{Principal: Type + ":" + id, Name: cmp.Or(strings.TrimSpace(who.FirstName+" "+who.LastName), id), Proof: ask.ProofTelegram}
}

// prompt asks a person for words, as a message that their reply names.
func (s *App) prompt(ctx context.Context, l *lang.Language, m place, who *models.User, mark, question string) error {
	var t text
	t.add("✏️", "text_link", mark)
	n := t.n
	t.add(" "+who.FirstName, "", "")
	if t.n > n+1 {
		t.entities = append(t.entities, models.MessageEntity{Type: "text_mention", Offset: n + 1, Length: t.n - n - 1, User: who})
	}
	t.add(": "+chat.ClipUnits(question, 500)+"\n"+l.Say("Reply to this message with your answer."), "", "")
	_, err := s.api.send(ctx, m, s.Now(), t, &models.ForceReply{ForceReply: true, Selective: true}, m.ID)
	return err
}

var markForm = regexp.MustCompile(`\?start=([0-9a-f]{24})-([0-9]{1,3})(?:&draft=([A-Za-z0-9_-]+))?$`)

// marked returns the short id of the ask and the number of the question that a message of this bot is about, and
// the draft that it carries.
func (s *App) marked(m *models.Message) (id string, q int, d chat.Draft, ok bool) {
	me := s.me.Load()
	if m == nil || m.From == nil || me == nil || m.From.ID != me.ID {
		return "", 0, d, false
	}
	if m.Text == "" { // a rich message, of an ask with one question
		id, ok = buttonOf(m.ReplyMarkup)
		return id, 0, d, ok
	}
	if len(m.Entities) == 0 || m.Entities[0].Offset != 0 {
		return "", 0, d, false
	}
	parts := markForm.FindStringSubmatch(m.Entities[0].URL)
	if parts == nil {
		return "", 0, d, false
	}
	q, _ = strconv.Atoi(parts[2]) // digits
	d, _ = chat.ParseDraft(parts[3])
	return parts[1], q, d, true
}

// buttonOf returns the short id of the ask whose button is first on a keyboard.
func buttonOf(k *models.InlineKeyboardMarkup) (id string, ok bool) {
	if k == nil || len(k.InlineKeyboard) == 0 || len(k.InlineKeyboard[0]) == 0 {
		return "", false
	}
	id, _, ok = strings.Cut(k.InlineKeyboard[0][0].CallbackData, ":")
	return id, ok && len(id) == 24
}

// wrote handles a message: an answer if it replies to one of ours, a request for ids, or talk.
func (s *App) wrote(ctx context.Context, m *models.Message) {
	l := s.Speaks(m.From.LanguageCode, nil)
	here := place{Chat: m.Chat.ID, Topic: m.MessageThreadID, ID: m.ID}
	if word, _, _ := strings.Cut(m.Text, "@"); word == "/start" || word == "/id" {
		s.notify(ctx, here, l.Say("The id of this chat is %s, yours is %s.", place{Chat: here.Chat, Topic: here.Topic}.ref(), strconv.FormatInt(m.From.ID, 10)))
		return
	}
	if m.Chat.Type == models.ChatTypePrivate && !m.From.IsBot && m.ReplyToMessage == nil && chat.SaysLink(m.Text) {
		s.notify(ctx, here, s.LinkMe(ctx, l, member(m.From)))
		return
	}
	id, n, _, ok := s.marked(m.ReplyToMessage)
	private := m.Chat.Type == models.ChatTypePrivate
	if !ok {
		if private {
			s.notify(ctx, here, l.Say("Please reply to the message of the question, or use its buttons."))
		}
		return
	}
	t := s.turn(ctx, id, m.From, m.ReplyToMessage, here)
	t.ID = chat.AnswerID(Type, here.ref(), t.User)
	s.notify(ctx, here, s.Write(ctx, t, m.Text, n, private, func(rec *ask.Record) (string, bool) {
		for _, one := range chat.Posted(s.Type, rec) {
			if at, ok := parsePlace(one.Ref); ok && at.Chat == here.Chat {
				return at.ref(), at.ID != m.ReplyToMessage.ID
			}
		}
		return "", true
	}))
}

// notify writes to a person, as a reply to their message: Telegram has no message in a group that only
// one person is sure to see.
func (s *App) notify(ctx context.Context, m place, words string) {
	if words == "" {
		return
	}
	var t text
	t.add(words, "", "")
	if _, err := s.api.send(ctx, m, s.Now(), t, nil, m.ID); err != nil {
		s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
	}
}
