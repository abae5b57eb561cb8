package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/askbus/askbus/pkg/responder"
)

// respondD4 takes an interaction_response. With several questions there is one
// for each, and the answer counts when the last is there.
func (s *socket) respondD4(ctx context.Context, data json.RawMessage) error {
	var head struct {
		ID        string          `json:"id"`
		SessionID string          `json:"sessionId"`
		By        json.RawMessage `json:"by"`
	}
	if err := json.Unmarshal(data, &head); err != nil || head.ID == "" {
		return s.complain(ctx, "", fault(`an %s needs { "id": …, "result": … }`, dialect.D4Response))
	}
	id, at := dialect.D4ID(head.ID)
	k, err := s.find(head.SessionID, id)
	if err != nil {
		return s.complain(ctx, head.ID, err)
	}
	rec, live, err := s.pending(ctx, k, head.ID)
	if !live {
		return err
	}
	given, err := dialect.D4Reply(&rec.Ask, data)
	if err != nil {
		return s.again(ctx, rec, head.ID, err)
	}
	if n := len(rec.Ask.Questions); n > 1 && at < n && len(given.Reply.Answers) == 1 {
		if given.Reply.Answers = s.screen.collect(rec, at, given.Reply.Answers[0]); given.Reply.Answers == nil {
			return nil
		}
	}
	return s.decide(ctx, rec, head.ID, given, head.By)
}

// collect keeps one answer of several; it returns them all when the last is
// there, or when one of them cancels the ask.
func (s *screen) collect(rec *ask.Record, at int, ans ask.Answer) []ask.Answer {
	k, a := rec.Ask.Key(), &rec.Ask
	if s.cards[k] == nil {
		s.cards[k] = &card{seq: rec.Seq}
	}
	held := s.cards[k]
	if held.answers == nil {
		held.answers = map[int]ask.Answer{}
	}
	held.answers[at] = ans
	cancels := slices.ContainsFunc(ans.Selected, func(id string) bool {
		o := a.Questions[at].Option(id)
		return o != nil && o.Cancels
	})
	if len(held.answers) < len(a.Questions) && !cancels {
		return nil
	}
	all := make([]ask.Answer, 0, len(held.answers))
	for i := range a.Questions {
		if one, ok := held.answers[i]; ok {
			all = append(all, one)
		}
	}
	return all
}

// respondD1 takes an ask:question:response of a screen.
func (s *socket) respondD1(ctx context.Context, data json.RawMessage) error {
	agent, id, err := dialect.D1ID(data)
	if err != nil {
		return s.complain(ctx, "", err)
	}
	var head struct {
		By json.RawMessage `json:"by"`
	}
	_ = json.Unmarshal(data, &head) // D1ID has seen an object
	k, err := s.find("", id)
	if id == "" {
		if open := s.screen.open(agent); open != nil {
			k, err = *open, nil
		}
	}
	if err != nil {
		return s.complain(ctx, id, err)
	}
	rec, live, err := s.pending(ctx, k, id)
	if !live {
		return err
	}
	read := dialect.D1Reply
	if s.screen.shape == shapeD2 {
		read = dialect.D2Reply
	}
	given, err := read(&rec.Ask, data)
	if err != nil {
		return s.again(ctx, rec, rec.Ask.ID, err)
	}
	return s.decide(ctx, rec, rec.Ask.ID, given, head.By)
}

// find is the ask that a response is about.
func (s *socket) find(session, id string) (ask.Key, error) {
	k := ask.Key{Tenant: s.scope.tenant, Session: s.scope.session, ID: id}
	var found []ask.Key
	for held := range s.screen.cards {
		if held.ID == id && (session == "" || held.Session == ask.Token(session)) {
			found = append(found, held)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return k, fault("two sessions have an ask %s; say which with sessionId", quote(id))
	case k.Session == "" && session != "":
		k.Session = ask.Token(session)
	}
	if !k.Valid() {
		return k, ask.Refuse(404, ask.CodeNotFound, "%s is no ask that waits here", quote(id))
	}
	return k, s.c.mayAnswer(k.Tenant, k.Session)
}

// pending reads the ask; when it has ended, or cannot be read, the client is
// told so and live is false.
func (s *socket) pending(ctx context.Context, k ask.Key, id string) (rec *ask.Record, live bool, err error) {
	got, err := s.g.resp.Get(ctx, k)
	switch {
	case err != nil:
		return nil, false, s.complain(ctx, id, err)
	case got.State == ask.StateResolved:
		return nil, false, s.dismiss(ctx, &got, true)
	}
	return &got, true, nil
}

// decide sends what the person did. When it is stored the client is told so;
// when somebody was faster, who it was.
func (s *socket) decide(ctx context.Context, rec *ask.Record, id string, given dialect.Given, by json.RawMessage) error {
	if given.Decision == dialect.Dismissed {
		return nil
	}
	name, err := nameIn(by)
	if err != nil {
		return s.complain(ctx, id, err)
	}
	k := rec.Ask.Key()
	given.Reply.By = s.c.By(orElse(name, s.name))
	given.Reply.AnswerID = cloudevent.NewID()
	call, cancel := detached(ctx) // the person has decided, also when the connection drops now
	defer cancel()
	var o ask.Outcome
	if given.Decision == dialect.Declined {
		o, err = s.g.resp.Cancel(call, k, responder.Decline{AnswerID: given.Reply.AnswerID, Reason: given.Reason, By: given.Reply.By})
	} else {
		o, err = s.g.resp.Answer(call, k, given.Reply)
	}
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Outcome != nil {
		o, err = *e.Outcome, nil // somebody was faster
	}
	if err != nil {
		return s.again(ctx, rec, id, err)
	}
	s.g.opts.Logger.InfoContext(ctx, "answered", slog.String("ask_id", k.ID), slog.String("principal", given.Reply.By.Principal))
	rec.State, rec.Outcome = ask.StateResolved, &o
	return s.dismiss(ctx, rec, true)
}

// again says what was wrong and asks again just what was at fault.
func (s *socket) again(ctx context.Context, rec *ask.Record, id string, err error) error {
	if failed := s.complain(ctx, id, err); failed != nil || !errors.Is(err, ask.ErrInvalid) {
		return failed
	}
	wrong := map[string]bool{}
	for _, f := range problem(err).Faults {
		if f.QuestionID != "" {
			wrong[f.QuestionID] = true
		}
	}
	if held := s.screen.cards[rec.Ask.Key()]; held != nil {
		for i := range held.answers {
			if wrong[rec.Ask.Questions[i].ID] || len(wrong) == 0 {
				delete(held.answers, i)
			}
		}
	}
	if _, at := dialect.D4ID(id); len(wrong) == 0 && at < len(rec.Ask.Questions) {
		wrong[rec.Ask.Questions[at].ID] = true
	}
	return s.request(ctx, &rec.Ask, wrong)
}
