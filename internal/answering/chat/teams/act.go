package teams

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// act carries out an action, and returns what to tell the person, or what the card is now.
func (s *App) act(ctx context.Context, in *activity, t target, fields chat.Fields) (told string, shown *sheet) {
	ref, ok := chat.ParseRef(t.Ref)
	l := s.Speaks(in.Locale, nil)
	if !ok {
		return l.Say("This question is not asked here."), nil
	}
	rec, err := s.Bus.Get(ctx, ref.Key)
	if err == nil && rec.Life != ref.Life {
		err = ask.ErrAskedAgain
	}
	if err != nil {
		told, words := s.Gone(l, &rec, err)
		if words != "" && in.ReplyTo != "" {
			s.close(ctx, in.place(), words)
		}
		return told, nil
	}
	at, ok := s.here(in, &rec)
	if !ok { // what a client sends may be forged
		return l.Say("This question is not asked here."), nil
	}
	switch {
	case t.Do == doRefresh:
		return "", s.shown(ctx, &rec, at)
	case rec.Outcome != nil:
		return s.Late(l, &rec, at.ref()), nil //nolint:contextcheck // the correction outlives the press
	}
	by, refused := s.may(ctx, l, in, t.Do, &rec)
	if refused != "" {
		return refused, nil
	}
	id := chat.AnswerID(Type, at.ref(), in.ID, by.Principal)
	switch t.Do {
	case doDecline:
		told, err = s.Decline(ctx, l, &rec, at.ref(), responder.Decline{AnswerID: id, By: by, Reason: strings.TrimSpace(fields[chat.FieldReason])})
	case doTakeBack:
		return s.TakeBack(ctx, l, &rec, at.ref(), id, by), nil
	case doChoose, doSend:
		if t.Do == doChoose && t.Option != nil {
			fields = chat.Fields{chat.Field(chat.FieldAnswer, 0): strconv.Itoa(*t.Option)}
		}
		answers, faults := fields.Read(l, &rec.Ask)
		if len(faults) > 0 {
			return l.Say("Not stored: %s The question stays open.", strings.Join(words(faults), " ")), nil
		}
		if chosen := s.Card(l, &rec).Destructive(answers); chosen != "" && !fields.Sure() {
			return l.Say("“%s” is destructive: tick this to choose it.", chosen), nil
		}
		told, err = s.Answer(ctx, l, &rec, at.ref(), ask.Reply{AnswerID: id, Answers: answers, By: by})
	default:
		return l.Say("This question is not asked here."), nil
	}
	if err != nil {
		return told, nil
	}
	if rec, err = s.Bus.Get(ctx, ref.Key); err != nil {
		return l.Say("Your answer is stored."), nil
	}
	return told, s.shown(ctx, &rec, at)
}

// words returns what is wrong with the fields of a form, each once.
func words(faults map[string]string) []string {
	return slices.Compact(slices.Sorted(maps.Values(faults)))
}

// here returns where an ask is posted in the conversation of an activity.
func (s *App) here(in *activity, rec *ask.Record) (at place, ok bool) {
	for _, one := range chat.Posted(s.Type, rec) {
		at, ok := parsePlace(one.Ref)
		switch {
		case !ok || base(at.Conversation) != base(in.Conversation.ID):
		case at.Activity == in.ReplyTo, in.ReplyTo == "" && at.Conversation == in.Conversation.ID:
			return at, true
		}
	}
	return place{}, false
}

// shown returns what the card of an ask is now.
func (s *App) shown(ctx context.Context, rec *ask.Record, at place) *sheet {
	if rec.Outcome != nil {
		return outcome(s.EndIn(s.Language(&rec.Ask), rec, clip), refOf(rec.Ask.Key(), rec.Life))
	}
	d := s.drawn(ctx, rec, s.LinkTo(rec.Ask.Key()), at)
	return d.sheet()
}

func refOf(k ask.Key, life string) string { return chat.Ref{Key: k, Life: life}.Question() }

// close makes a card say only these words.
func (s *App) close(ctx context.Context, at place, words string) {
	s.after.Do(ctx, func(ctx context.Context) {
		if err := s.api.edit(ctx, at, s.Now(), carrying(said(words))); err != nil && !gone(err) {
			s.Log.WarnContext(ctx, "cannot close a card", slog.String("error", err.Error()))
		}
	})
}

// may returns the person for the broker, or why they may not act at all, which it reports.
func (s *App) may(ctx context.Context, l *lang.Language, in *activity, what string, rec *ask.Record) (by ask.By, refused string) {
	if by, refused = s.by(ctx, l, in, &rec.Ask); refused != "" {
		s.RefusePerson(what, refused, by, &rec.Ask)
	}
	return by, refused
}

// by returns the person for the broker, or why they may not act at all. Teams says in an activity who acted, and in the
// list of members whether they are a guest.
func (s *App) by(ctx context.Context, l *lang.Language, in *activity, a *ask.Ask) (ask.By, string) {
	object := strings.ToLower(in.From.Object)
	by := s.member(in)
	if !guidForm.MatchString(object) || in.From.Role == "bot" {
		return by, l.Say("Only a person can answer; anonymous administrators and bots cannot.")
	}
	where := place{in.Service, cmp.Or(in.Data.Team.ID, base(in.Conversation.ID)), object}
	if !slices.Contains(s.opts.Guests, object) {
		m, err := s.people.Person(ctx, where.ref())
		switch {
		case err != nil && m.Role == "":
			s.Log.WarnContext(ctx, "cannot look up a person of Teams", slog.String("error", err.Error()))
			return by, l.Say("The chat could not be reached; please press again in a moment.")
		case s.guest(&m):
			return by, l.Say("Guests may not answer here. The administrator of askbus can list you: %s.", object)
		}
	}
	s.Identify(ctx, &by, object, a, func(group string) (bool, error) {
		service := s.opts.ServiceURL
		if ref, ok, err := s.refs.find(ctx, group); err == nil && ok {
			service = ref.Service
		}
		return s.people.In(ctx, place{service, group, object}.ref(), object)
	})
	return by, ""
}

// guest reports whether a person is not a member of the directory.
func (s *App) guest(m *member) bool {
	return !strings.EqualFold(m.Role, "user") || m.Tenant != "" && !strings.EqualFold(m.Tenant, s.opts.Directory)
}

// member returns who acted as Teams proves them.
func (s *App) member(in *activity) ask.By {
	object := strings.ToLower(in.From.Object)
	return ask.By{Principal: Type + ":" + s.opts.Directory + "/" + object, Name: cmp.Or(in.From.Name, object), Proof: ask.ProofTeams}
}

// notify writes to the person who acted: to them alone where they have added the app, else where they acted.
func (s *App) notify(ctx context.Context, in *activity, words string) {
	to := place{Service: in.Service, Conversation: in.Conversation.ID}
	if words != "" && !in.personal() {
		if ref, ok, err := s.refs.find(ctx, strings.ToLower(in.From.Object)); err == nil && ok {
			to = place{Service: ref.Service, Conversation: ref.Conversation}
		}
	}
	s.write(ctx, to, words)
}

// maxSearched bounds the pending asks that are read for the card that words are written below.
const maxSearched = 500

// wrote takes words: an answer to the only open ask of the conversation, a request for ids, or talk.
func (s *App) wrote(ctx context.Context, in *activity) {
	l := s.Speaks(in.Locale, nil)
	text, mentioned := in.words()
	if id := strings.ToLower(strings.Trim(text, "/ ")); id == "id" || id == "start" {
		s.tell(ctx, in, l.Say("The id of this chat is %s, yours is %s.", base(in.Conversation.ID), in.From.Object))
		return
	}
	if in.personal() && chat.SaysLink(text) && guidForm.MatchString(in.From.Object) && in.From.Role != "bot" {
		s.tell(ctx, in, s.LinkMe(ctx, l, s.member(in)))
		return
	}
	thread, err := s.open(ctx, in)
	switch {
	case err != nil:
		s.tell(ctx, in, l.Say("Not stored: askbus cannot be reached. Please send it again in a moment."))
		return
	case len(thread.Open) == 0:
		if in.personal() || mentioned {
			s.tell(ctx, in, l.Say("No question is open in this thread. Your reply was not taken as an answer."))
		}
		return
	}
	h, one := chat.Listen(text, mentioned), &thread.Open[0]
	said := chat.Said{User: in.From.ID, Reply: in.ID, Thread: in.Conversation.ID, Words: h.Words}
	if !thread.Answers(h, true) {
		told, _ := thread.Offer(l, said)
		s.tell(ctx, in, told)
		return
	}
	by, refused := s.may(ctx, l, in, "words", one.Rec)
	if refused != "" {
		s.tell(ctx, in, refused)
		return
	}
	at, _ := s.here(in, one.Rec)
	told := ""
	switch taken := s.Take(l, said, one); {
	case taken.Decline != nil:
		taken.Decline.By = by
		told, _ = s.Decline(ctx, l, one.Rec, at.ref(), *taken.Decline)
	case taken.Reply != nil:
		taken.Reply.By = by
		told, _ = s.Answer(ctx, l, one.Rec, at.ref(), *taken.Reply)
	default: // what a button would be offered for is chosen on the card
		told = cmp.Or(taken.Why, l.Say("Your words do not answer this question.")) + " " + l.Say("Please use the card.")
	}
	s.tell(ctx, in, told)
}

// tell answers words where they were written.
func (s *App) tell(ctx context.Context, in *activity, words string) {
	s.write(ctx, place{Service: in.Service, Conversation: in.Conversation.ID}, words)
}

func (s *App) write(ctx context.Context, to place, words string) {
	if words == "" {
		return
	}
	if _, err := s.api.send(ctx, to, false, s.Now(), &message{Type: "message", Text: inert.Replace(words), TextFormat: "plain"}); err != nil {
		s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
	}
}

// words returns a message's text without the mention that begins it, and whether it mentions this app.
func (in *activity) words() (text string, mentioned bool) {
	text = in.Text
	for _, e := range in.Entities {
		if e.Type == "mention" && e.Mentioned.ID == in.Recipient.ID {
			text, mentioned = strings.Replace(text, e.Text, "", 1), true
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\u00a0", " ")), mentioned
}

// open returns the open asks of a conversation. Words have no card that they reply to, except in a channel, where the
// conversation is the thread of one.
func (s *App) open(ctx context.Context, in *activity) (t chat.Thread, err error) {
	in.ReplyTo = ""
	n := 0
	for rec, err := range s.Bus.All(ctx, responder.Query{Tenant: s.Bus.Tenant(), State: ask.StatePending, PageSize: 100}) {
		if err != nil {
			return t, err
		}
		if at, ok := s.here(in, &rec); ok {
			t.Open = append(t.Open, chat.Open{Rec: &rec, Card: chat.Message{Channel: at.Conversation, ID: at.Activity}, Others: true})
		}
		if n++; n == maxSearched {
			break
		}
	}
	return t, nil
}

// drawn returns what is needed to draw an ask.
func (s *App) drawn(ctx context.Context, rec *ask.Record, link string, at place) drawing {
	return drawing{Card: s.Card(s.Language(&rec.Ask), rec), ref: refOf(rec.Ask.Key(), rec.Life), link: link, mentions: s.mentioned(ctx, s.Routes().Decide(&rec.Ask).Mention, at)}
}

// mentioned returns the mentions of people, by their ids, in a conversation.
func (s *App) mentioned(ctx context.Context, ids []string, at place) (all []mentioned) {
	for _, id := range ids {
		if !guidForm.MatchString(id) { // a group: Teams has no mention of one
			continue
		}
		name := ""
		if ref, ok, err := s.refs.find(ctx, id); err == nil && ok {
			name = ref.Name
		} else if m, err := s.people.Person(ctx, place{at.Service, base(at.Conversation), id}.ref()); err == nil {
			name = m.Name
		}
		all = append(all, mentioned{ID: id, Name: cmp.Or(name, ask.Clip(id, 9))})
	}
	return all
}
