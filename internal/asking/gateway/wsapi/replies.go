package wsapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// respondInteract handles an interaction_response. An ask with several questions needs one for
// each, and is answered by the last.
func (s *socket) respondInteract(ctx context.Context, data json.RawMessage) error {
	var head struct {
		ID        string          `json:"id"`
		SessionID string          `json:"sessionId"`
		By        json.RawMessage `json:"by"`
	}
	if err := json.Unmarshal(data, &head); err != nil || head.ID == "" {
		return s.complain(ctx, "", ask.Refusal(ask.CodeInvalid, ask.FaultFrameNeeds, frameInteractResponse))
	}
	id, at := dialect.SplitFrameID(head.ID)
	k, err := s.find(head.SessionID, id)
	if err != nil {
		return s.complain(ctx, head.ID, err)
	}
	rec, live, err := s.pending(ctx, k, head.ID)
	if !live {
		return err
	}
	given, err := asking.ReadReply(shapeInteract.dialect(), rec, data, len(rec.Ask.Questions) > 1)
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

// collect stores one of several answers. It returns all when they are complete, or when one cancels
// the ask.
func (s *screen) collect(rec *ask.Record, at int, ans ask.Answer) []ask.Answer {
	k, a := rec.Ask.Key(), &rec.Ask
	if s.cards[k] == nil {
		s.cards[k] = &onScreen{life: rec.Life, asked: rec.AskedAt}
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

// respondEventPair handles a screen's ask:question:response.
func (s *socket) respondEventPair(ctx context.Context, data json.RawMessage) error {
	agent, id, err := eventPairIDs(data)
	if err != nil {
		return s.complain(ctx, "", err)
	}
	var head struct {
		By json.RawMessage `json:"by"`
	}
	_ = json.Unmarshal(data, &head) // eventPairIDs has checked that it is an object
	k, err := s.find("", id)
	if id == "" {
		if open := s.screen.open(agent); open != nil {
			k, err = *open, nil
		} else if late, ok := s.screen.late(func(e ending) bool { return e.agent == agent }); ok {
			k, err = late, nil
		}
	}
	if err != nil {
		return s.complain(ctx, id, err)
	}
	rec, live, err := s.pending(ctx, k, id)
	if !live {
		return err
	}
	given, err := asking.ReadReply(s.screen.shape.dialect(), rec, data, false)
	if err != nil {
		return s.again(ctx, rec, rec.Ask.ID, err)
	}
	return s.decide(ctx, rec, rec.Ask.ID, given, head.By)
}

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
		return k, ask.Refusal(ask.CodeInvalid, ask.FaultSeveralSessions, ask.Clip(id, 80))
	case k.Session == "" && session != "":
		k.Session = ask.Token(session)
	case k.Session == "":
		if late, ok := s.screen.late(func(e ending) bool { return e.key.ID == id }); ok {
			return late, nil
		}
	}
	if !k.Valid() {
		return k, ask.Refusal(ask.CodeNotFound, ask.FaultNotOpenHere, ask.Clip(id, 80))
	}
	return k, s.c.CheckAnswer(k.Tenant, k.Session)
}

// pending reads the ask. If it has ended or cannot be read, it tells the client and live is false.
func (s *socket) pending(ctx context.Context, k ask.Key, id string) (rec *ask.Record, live bool, err error) {
	got, err := s.server.resp.Get(ctx, k)
	switch {
	case err != nil:
		return nil, false, s.complain(ctx, id, err)
	case got.State == ask.StateResolved:
		return nil, false, s.dismiss(ctx, &got, true)
	}
	return &got, true, nil
}

// decide sends the person's decision. It tells the client that it is stored, or who answered first.
func (s *socket) decide(ctx context.Context, rec *ask.Record, id string, given dialect.Given, by json.RawMessage) error {
	if given.Decision == dialect.Dismissed {
		return s.keep(ctx, rec, id)
	}
	name, err := access.ReadName(by)
	if err != nil {
		return s.complain(ctx, id, err)
	}
	k := rec.Ask.Key()
	given.Reply.By = s.c.By(cmp.Or(name, s.name))
	given.Reply.AnswerID = cloudevent.NewID()
	call, cancel := asking.Detached(ctx) // complete it even if the connection drops
	defer cancel()
	o, err := asking.Decide(call, s.server.resp, k, given)
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Outcome != nil {
		o, err = *e.Outcome, nil // an answer came first
	}
	if err != nil {
		return s.again(ctx, rec, id, err)
	}
	s.server.opts.Logger.InfoContext(ctx, "decided", slog.String("ask_id", k.ID), slog.String("decision", string(given.Decision)), slog.String("principal", given.Reply.By.Principal))
	rec.State, rec.Outcome = ask.StateResolved, &o
	s.server.board.Learn(*rec)
	return s.dismiss(ctx, rec, true)
}

// keep tells a client that an ask which it closed undecided stays open. It shows the agent's next
// ask; the kept one may still be answered.
func (s *socket) keep(ctx context.Context, rec *ask.Record, id string) error {
	a := &rec.Ask
	typ := framePending
	if s.screen.shape == shapeInteract {
		typ = frameInteractPending
	}
	body, err := json.Marshal(struct {
		AgentID   string    `json:"agentId,omitempty"`
		ID        string    `json:"id"`
		SessionID string    `json:"sessionId"`
		Status    ask.State `json:"status"`
		Deadline  time.Time `json:"deadline"`
	}{cmp.Or(a.Agent.ID, a.Session), cmp.Or(id, a.ID), a.Session, ask.StatePending, a.Deadline})
	if err != nil {
		return err
	}
	if err := s.send(ctx, typ, body); err != nil {
		return err
	}
	held := s.screen.cards[a.Key()]
	if held == nil || held.agent == "" {
		return nil
	}
	agent := held.agent
	held.agent = ""
	return s.next(ctx, agent)
}

// again reports what was invalid and asks only that again.
func (s *socket) again(ctx context.Context, rec *ask.Record, id string, err error) error {
	if failed := s.complain(ctx, id, err); failed != nil || !errors.Is(err, ask.ErrInvalid) {
		return failed
	}
	wrong := map[string]bool{}
	for _, f := range access.Problem(err).Faults {
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
	if _, at := dialect.SplitFrameID(id); len(wrong) == 0 && at < len(rec.Ask.Questions) {
		wrong[rec.Ask.Questions[at].ID] = true
	}
	return s.request(ctx, &rec.Ask, wrong)
}
