package telegram

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/go-telegram/bot/models"
)

// pressed handles a button, and ends its query with what to tell the person.
func (s *App) pressed(ctx context.Context, q *models.CallbackQuery) {
	told := ""
	if id, data, ok := strings.Cut(q.Data, ":"); ok && len(id) == 24 {
		told = s.press(ctx, q, id, data)
	}
	if err := s.api.answer(ctx, q.ID, told); err != nil {
		s.log.InfoContext(ctx, "cannot end a query of Telegram", slog.String("error", err.Error()))
	}
}

// at returns the message of a query.
func at(q *models.CallbackQuery) (p place) {
	if m := q.Message.Message; m != nil {
		return place{Chat: m.Chat.ID, Topic: m.MessageThreadID, ID: m.ID}
	}
	if m := q.Message.InaccessibleMessage; m != nil {
		return place{Chat: m.Chat.ID, ID: m.MessageID}
	}
	return p
}

// press carries out a button, and returns what to tell the person; "" if nothing.
func (s *App) press(ctx context.Context, q *models.CallbackQuery, id, data string) (told string) {
	l, m := s.speaks(&q.From), at(q)
	rec, err := s.bus.Posted(ctx, keyOf(id))
	if err != nil {
		return s.lost(ctx, l, m, err)
	}
	if rec.Outcome != nil {
		return s.late(l, &rec, m) //nolint:contextcheck // the correction outlives the press
	}
	view := s.drawn(&rec, s.linkTo(rec.Ask.Key()))
	steps, do := s.held(id, q.Message.Message, &q.From).Press(view.Card, data)
	switch do {
	case card.DoDecline:
		return s.decline(ctx, l, &rec, m, &q.From, responder.Decline{AnswerID: chat.AnswerID(Type, q.ID)})
	case card.DoType:
		s.prompt(ctx, l, m, &q.From, &view, steps)
		return ""
	case card.DoNothing: // of another person's answers: show this person's next question
		if told = s.advance(ctx, l, &rec, m, &q.From, &view, steps, chat.AnswerID(Type, q.ID)); told == "" {
			told = l.Say("Please begin with this question.")
		}
		return told
	case card.DoChoose, card.DoContinue:
	}
	return s.advance(ctx, l, &rec, m, &q.From, &view, steps, chat.AnswerID(Type, q.ID))
}

// late corrects the message of an ended ask, and returns what to tell the person who used it.
func (s *App) late(l *lang.Language, rec *ask.Record, m place) string {
	if srv := s.server.Load(); srv != nil && m.ID != 0 {
		s.clicked.Add(m.ref(), struct{}{})
		srv.Correct(*rec, ask.Place{Ref: m.ref()})
	}
	return card.Viewer{Surface: Type, Lang: l.Tag}.Late(rec, rec.Outcome, s.opts.Clock.Now())
}

// held returns a person's steps so far: those that the message carries, else those in memory.
func (s *App) held(id string, m *models.Message, who *models.User) card.Steps {
	user := strconv.FormatInt(who.ID, 10)
	if _, _, d, ok := s.marked(m); ok && d.By == user {
		return d.Steps
	}
	if d, ok := s.drafts.Get(id); ok && d.By == user {
		return d.Steps
	}
	return card.Steps{}
}

func (s *App) now() responder.Rank {
	return responder.Rank{Urgent: true, At: s.opts.Clock.Now()}
}

func (s *App) said(ctx context.Context, l *lang.Language, err error) string {
	if err == nil {
		return ""
	}
	s.log.WarnContext(ctx, "cannot edit a message of Telegram", slog.String("error", err.Error()))
	return l.Say("Telegram could not be reached; please press again in a moment.")
}

// advance shows the next question, or sends the complete reply. It returns what to tell the person.
func (s *App) advance(ctx context.Context, l *lang.Language, rec *ask.Record, m place, who *models.User, view *drawing, steps card.Steps, id string) string {
	if steps.Next(view.Card) == nil {
		told, _ := s.send(ctx, l, rec, m, who, ask.Reply{AnswerID: id, Answers: steps.Answers})
		return told
	}
	d := chat.Draft{By: strconv.FormatInt(who.ID, 10), Steps: steps}
	s.drafts.Add(view.id, d)
	return s.said(ctx, l, s.api.edit(ctx, m, s.now(), view.text(d), view.keyboard(steps)))
}

// lost returns what to tell of a button whose ask is not there, and closes its message.
func (s *App) lost(ctx context.Context, l *lang.Language, m place, err error) string {
	told, _ := card.Viewer{Lang: l.Tag}.Gone(err)
	_, shown := card.Viewer{Lang: s.routes().Default.Language}.Gone(err)
	if shown != "" && m.ID != 0 {
		var t text
		t.add(shown, "", "")
		_ = s.said(ctx, l, s.api.edit(ctx, m, s.now(), t, nil))
	}
	return told
}

func (s *App) linkTo(k ask.Key) string {
	if s.opts.Link == nil {
		return ""
	}
	return s.opts.Link(k)
}

// by returns the person for the broker, or why they may not act at all.
func (s *App) by(ctx context.Context, l *lang.Language, who *models.User, a *ask.Ask) (ask.By, string) {
	id := strconv.FormatInt(who.ID, 10)
	by := ask.By{Principal: Type + ":" + id, Name: strings.TrimSpace(who.FirstName + " " + who.LastName), Proof: Proof}
	if by.Name == "" {
		by.Name = id
	}
	if who.IsBot { // and anonymous administrators, who come as a bot
		return by, l.Say("Only a person can answer; anonymous administrators and bots cannot.")
	}
	routes := s.routes()
	if one := routes.Principal(id, a); one != "" && (slices.Contains(a.Audience, one) || !slices.Contains(a.Audience, by.Principal)) {
		by.Principal = one
	}
	by.Groups = chat.AudienceGroups(ctx, routes, a, s.log, func(group string) (bool, error) { return s.people.In(ctx, group+"/"+id, id) })
	return by, ""
}

// send sends a person's reply; told is what to tell them.
func (s *App) send(ctx context.Context, l *lang.Language, rec *ask.Record, m place, who *models.User, reply ask.Reply) (told string, err error) {
	by, refused := s.by(ctx, l, who, &rec.Ask)
	if refused != "" {
		return refused, ask.Refuse(ask.CodeForbidden, "%s", refused)
	}
	reply.By = by
	s.clicked.Add(m.ref(), struct{}{})
	if srv := s.server.Load(); srv != nil {
		_, err = srv.Answer(ctx, rec.Ask.Key(), ask.Place{Ref: m.ref()}, reply)
	} else {
		_, err = s.bus.Answer(ctx, rec.Ask.Key(), reply)
	}
	return card.Viewer{Surface: Type, Lang: l.Tag}.Explain(rec, err, s.opts.Clock.Now()), err
}

func (s *App) decline(ctx context.Context, l *lang.Language, rec *ask.Record, m place, who *models.User, d responder.Decline) string {
	by, refused := s.by(ctx, l, who, &rec.Ask)
	if refused != "" {
		return refused
	}
	d.By = by
	s.clicked.Add(m.ref(), struct{}{})
	var err error
	if srv := s.server.Load(); srv != nil {
		_, err = srv.Cancel(ctx, rec.Ask.Key(), ask.Place{Ref: m.ref()}, d)
	} else {
		_, err = s.bus.Cancel(ctx, rec.Ask.Key(), d)
	}
	return card.Viewer{Surface: Type, Lang: l.Tag}.Explain(rec, err, s.opts.Clock.Now())
}

// prompt asks a person for words, as a message that their reply names.
func (s *App) prompt(ctx context.Context, l *lang.Language, m place, who *models.User, view *drawing, steps card.Steps) {
	q := steps.Next(view.Card)
	if q == nil {
		return
	}
	var t text
	t.add("✏️", "text_link", view.mark(chat.Draft{By: strconv.FormatInt(who.ID, 10), Steps: steps}))
	n := t.n
	t.add(" "+who.FirstName, "", "")
	if t.n > n+1 {
		t.entities = append(t.entities, models.MessageEntity{Type: "text_mention", Offset: n + 1, Length: t.n - n - 1, User: who})
	}
	t.add(": "+clip(q.Plain(), 500)+"\n"+l.Say("Reply to this message with your answer."), "", "")
	force := &models.ForceReply{ForceReply: true, Selective: true}
	if _, err := s.api.send(ctx, m, s.now(), t, force, m.ID); err != nil {
		s.log.WarnContext(ctx, "cannot ask for words", slog.String("error", err.Error()))
	}
}

var markForm = regexp.MustCompile(`\?start=([0-9a-f]{24})-([0-9]{1,3})(?:&draft=([A-Za-z0-9_-]+))?$`)

// marked returns the short id of the ask and the number of the question that a message of this bot is about, and
// the draft that it carries.
func (s *App) marked(m *models.Message) (id string, q int, d chat.Draft, ok bool) {
	me := s.me.Load()
	if m == nil || m.From == nil || me == nil || m.From.ID != me.ID || len(m.Entities) == 0 || m.Entities[0].Offset != 0 {
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

// wrote handles a message: an answer if it replies to one of ours, a request for ids, or talk.
func (s *App) wrote(ctx context.Context, m *models.Message) {
	l := s.speaks(m.From)
	here := place{Chat: m.Chat.ID, Topic: m.MessageThreadID, ID: m.ID}
	if word, _, _ := strings.Cut(m.Text, "@"); word == "/start" || word == "/id" {
		s.tell(ctx, here, l.Say("The id of this chat is %s, yours is %s.", place{Chat: here.Chat, Topic: here.Topic}.ref(), strconv.FormatInt(m.From.ID, 10)))
		return
	}
	id, n, _, ok := s.marked(m.ReplyToMessage)
	if !ok {
		if m.Chat.Type == "private" {
			s.tell(ctx, here, l.Say("Please reply to the message of the question, or use its buttons."))
		}
		return
	}
	rec, err := s.bus.Posted(ctx, keyOf(id))
	if err != nil {
		s.tell(ctx, here, s.lost(ctx, l, place{}, err))
		return
	}
	card := s.cardOf(&rec, here)
	if rec.Outcome != nil {
		s.tell(ctx, here, s.late(l, &rec, card)) //nolint:contextcheck // the correction outlives the message
		return
	}
	prompted := m.ReplyToMessage.ID != card.ID
	h := chat.Listen(m.Text, prompted || m.Chat.Type == "private")
	reason, declines := chat.Declines(h.Words)
	answerID := chat.AnswerID(Type, here.ref(), strconv.FormatInt(m.From.ID, 10))
	switch {
	case !h.Answers([]*ask.Ask{&rec.Ask}, true):
		s.tell(ctx, here, l.Say("This was not taken as an answer, because people also talk here. Begin with “answer:” to answer."))
		return
	case declines && !prompted:
		s.tell(ctx, here, s.decline(ctx, l, &rec, card, m.From, responder.Decline{AnswerID: answerID, Reason: reason}))
		return
	}
	view := s.drawn(&rec, s.linkTo(rec.Ask.Key()))
	steps, ok := s.held(id, m.ReplyToMessage, m.From).Back(n)
	if !ok { // of another person's answers: show this person's next question
		if told := s.advance(ctx, l, &rec, card, m.From, &view, steps, answerID); told != "" {
			s.tell(ctx, here, told)
			return
		}
		s.tell(ctx, here, l.Say("Please begin with this question."))
		return
	}
	next, err := steps.Type(view.Card, h.Words)
	if err != nil {
		s.tell(ctx, here, l.Say("Your words do not answer this question."))
		s.prompt(ctx, l, here, m.From, &view, steps)
		return
	}
	s.tell(ctx, here, s.advance(ctx, l, &rec, card, m.From, &view, next, answerID))
}

// cardOf returns where an ask's message is in a chat, by its receipt; without an id if it is unknown.
func (s *App) cardOf(rec *ask.Record, in place) place {
	for _, one := range chat.Posted(Type, rec) {
		if at, ok := parsePlace(one.Ref); ok && at.Chat == in.Chat {
			return at
		}
	}
	return place{Chat: in.Chat, Topic: in.Topic}
}

// tell writes to a person, as a reply to their message: Telegram has no message in a group that only
// one person is sure to see.
func (s *App) tell(ctx context.Context, m place, words string) {
	if words == "" {
		return
	}
	var t text
	t.add(words, "", "")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := s.api.send(ctx, m, s.now(), t, nil, m.ID); err != nil {
		s.log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
	}
}
