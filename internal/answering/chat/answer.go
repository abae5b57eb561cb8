package chat

import (
	"context"
	"errors"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Answer sends what a person answered at a message, and returns what to tell them: "" if nothing. The error is that
// of [responder.Responder.Answer], or says that they permit what they were not shown whole.
func (s *Surface) Answer(ctx context.Context, l *lang.Language, rec *ask.Record, at string, reply ask.Reply) (told string, err error) {
	if told = s.Withheld(l, rec, reply.Answers); told != "" {
		s.RefusePerson("answer", told, reply.By, &rec.Ask)
		return told, ask.Refuse(ask.CodeForbidden, "%s", told)
	}
	if srv := s.clickedAt(at); srv != nil {
		_, err = srv.Answer(ctx, rec.Ask.Key(), ask.Place{Ref: at}, reply)
	} else {
		_, err = s.Bus.Answer(ctx, rec.Ask.Key(), reply)
	}
	return s.explain(l, rec, reply.By, err), err
}

// explain tells a person about the error of their answer. Who may not vote, and could decide alone, is sent to the inbox:
// no chat has break-glass.
func (s *Surface) explain(l *lang.Language, rec *ask.Record, by ask.By, err error) string {
	v := s.viewer(l, by)
	if errors.Is(err, ask.ErrForbidden) {
		k := rec.Ask.Key()
		v.Inbox = strings.TrimSuffix(s.LinkTo(k), "/ask/"+k.String())
	}
	return v.Explain(rec, err, s.Clock.Now())
}

// Decline declines for a person as [Surface.Answer] answers.
func (s *Surface) Decline(ctx context.Context, l *lang.Language, rec *ask.Record, at string, d responder.Decline) (told string, err error) {
	if srv := s.clickedAt(at); srv != nil {
		_, err = srv.Cancel(ctx, rec.Ask.Key(), ask.Place{Ref: at}, d)
	} else {
		_, err = s.Bus.Cancel(ctx, rec.Ask.Key(), d)
	}
	return s.explain(l, rec, d.By, err), err
}

// TakeBack takes a person's vote on an ask back, and returns what to tell them. The id is that of the click.
func (s *Surface) TakeBack(ctx context.Context, l *lang.Language, rec *ask.Record, at, id string, by ask.By) (told string) {
	_ = s.clickedAt(at)
	votes, err := s.Bus.Unvote(ctx, rec.Ask.Key(), id, by)
	switch v := s.viewer(l, by); {
	case errors.Is(err, ask.ErrConflict) && !errors.Is(err, ask.ErrResolved):
		return v.NoVote()
	case err != nil:
		return v.Explain(rec, err, s.Clock.Now())
	default:
		return v.VoteTakenBack(rec, votes, s.Clock.Now())
	}
}

// Late corrects a message that was used although its ask had ended, and returns what to tell the person who used it.
func (s *Surface) Late(l *lang.Language, rec *ask.Record, at string) string {
	if srv := s.clickedAt(at); srv != nil {
		srv.Correct(*rec, ask.Place{Ref: at})
	}
	return s.viewer(l, ask.By{}).Late(rec, rec.Outcome, s.Clock.Now())
}

// Gone returns what to tell a person who used a control whose ask could not be read, or is not the one that it was
// drawn for, and what the message then says instead: "" if the control may still be good. The record is that of the
// newer ask with [ask.ErrAskedAgain].
func (s *Surface) Gone(l *lang.Language, rec *ask.Record, err error) (told, shown string) {
	told, _ = s.viewer(l, ask.By{}).Gone(err)
	_, shown = s.viewer(s.Language(&rec.Ask), ask.By{}).Gone(err)
	return told, shown
}

// clickedAt notes that a message was used, and returns the server that then edits it before others; nil if there is
// none, or no message.
func (s *Surface) clickedAt(at string) *responder.Server {
	srv := s.server.Load()
	if srv == nil || at == "" {
		return nil
	}
	s.clicked.Add(messageOf(at), struct{}{})
	return srv
}

// messageOf returns a ref without the thread of a [Message]: a click may not say it.
func messageOf(ref string) string {
	if m, ok := ParseMessage(ref); ok {
		m.Thread = ""
		return m.Ref()
	}
	return ref
}
