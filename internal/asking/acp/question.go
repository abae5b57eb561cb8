package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// canceller is the side that cancelled a question.
type canceller string

const (
	byAgent  canceller = "the agent took it back"
	byEditor canceller = "the turn was cancelled in the editor"
)

// question is a request of the agent that people answer.
type question struct {
	id         json.RawMessage
	permission bool
	session    string // the editor's
	dialect    dialect.Dialect
	ask        ask.Ask
	unfit      error // why the bus cannot ask it

	// Guarded by the proxy's mutex.
	shown   bool // the editor shows it
	replied bool // the editor has answered it
	told    bool // the editor was sent a cancellation

	reply     chan reply     // at most one
	cancelled chan canceller // at most one
}

// reply is the editor's response to a question.
type reply struct {
	line []byte
	message
}

func (q *question) cancel(by canceller) {
	select {
	case q.cancelled <- by:
	default: // cancelled already
	}
}

// asked handles a question of the agent, and forwards it to an editor that can show it.
func (p *proxy) asked(life context.Context, line []byte, m *message) (pass []byte, after func()) {
	q := p.question(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	q.shown = q.permission || p.forms
	if q.ask.Agent.Name == "" {
		q.ask.Agent.Name = p.name
	}
	id := string(q.id)
	switch _, twice := p.questions[id]; {
	case twice, p.ending:
		return line, nil
	case q.unfit != nil, len(p.questions) >= maxOpen:
		if q.shown {
			p.opts.Logger.WarnContext(life, "only the editor shows the question", slog.Any("error", q.unfit))
			return line, nil
		}
		text := "askbus: too many questions are open; wait for answers"
		if q.unfit != nil {
			text = "askbus: " + q.unfit.Error()
		}
		_ = p.agent.write(refusal(q.id, codeInvalidParams, text)) // on error the agent's output ends as well
		return nil, nil
	}
	p.questions[id] = q
	p.serving.Add(1)
	start := func() { go p.serve(life, q) }
	if !q.shown {
		return nil, start
	}
	return line, start
}

// question parses a request of the agent.
func (p *proxy) question(m *message) *question {
	q := &question{id: m.ID, permission: m.Method == methodPermission, session: m.read().SessionID, reply: make(chan reply, 1), cancelled: make(chan canceller, 1)}
	name, params := "elicitation", m.Params
	if q.permission {
		name, params = "acp-permission", p.tools.complete(params)
	}
	q.dialect, _ = dialect.Lookup(name)
	q.ask, _, q.unfit = q.dialect.Ask(params)
	q.ask.WhileWaiting = !p.who.Outlive
	q.ask.Tenant, q.ask.Session, q.ask.Agent = p.who.Tenant, p.who.Session, p.who.Agent
	switch {
	case q.ask.Session != "":
	case q.session != "":
		q.ask.Session = ask.Token(q.session)
	default:
		q.ask.Session = p.who.Fallback
	}
	if q.ask.Timeout == 0 && q.ask.Deadline.IsZero() {
		q.ask.Timeout = p.who.Timeout
	}
	return q
}

// serve asks people until one has answered anywhere, or nobody waits.
func (p *proxy) serve(life context.Context, q *question) {
	defer p.serving.Done()
	s := p.publish(life, q)
	defer s.close()
	ready, ended := s.ready, s.ended
	var refused []byte // the response of an editor that failed to show it
	var away error     // why no other screen shows it
	for {
		select {
		case <-ready:
			ready, away = nil, s.storeErr
		case <-ended:
			ended, away = nil, s.waitErr
			if s.outcome != nil {
				p.finish(q, result(q.id, q.dialect.Answer(&q.ask, s.outcome).Body))
				return
			}
		case r := <-q.reply:
			if r.Error == nil || r.Error.Code == codeCancelled {
				response, reason := p.settle(life, q, s, r)
				p.finish(q, response)
				s.withdraw(life, reason)
				return
			}
			refused = r.line
			p.opts.Logger.WarnContext(life, "the editor cannot show the question", slog.String("error", r.Error.Message))
		case by := <-q.cancelled:
			p.finish(q, q.withdrawn(by))
			s.withdraw(life, string(by))
			return
		case <-life.Done():
			p.finish(q, nil)
			s.withdraw(life, context.Cause(life).Error())
			return
		}
		switch {
		case away == nil:
		case refused != nil:
			p.finish(q, refused)
			return
		case !p.shows(q):
			p.finish(q, refusal(q.id, codeInternal, "askbus: nobody can be asked: "+away.Error()))
			return
		default:
			p.opts.Logger.WarnContext(life, "only the editor shows the question", slog.Any("error", away))
		}
	}
}

// shows reports whether the editor has yet to answer.
func (p *proxy) shows(q *question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return q.shown && (!q.replied || len(q.reply) > 0)
}

// withdrawn returns the response to a cancelled question.
func (q *question) withdrawn(by canceller) []byte {
	o := ask.Outcome{AskID: q.ask.ID, Status: ask.StatusWithdrawn, Reason: string(by), Ask: &q.ask}
	if by == byAgent && !q.permission {
		return refusal(q.id, codeCancelled, "Request cancelled")
	}
	return result(q.id, q.dialect.Answer(&q.ask, &o).Body)
}

// finish sends the agent its response, and cancels the question in an editor that still shows it.
func (p *proxy) finish(q *question, response []byte) {
	p.mu.Lock()
	delete(p.questions, string(q.id))
	open := q.shown && !q.replied
	tell := open && !q.told
	if open {
		if len(p.late) >= maxLate {
			p.late = p.late[1:]
		}
		p.late = append(p.late, string(q.id))
	}
	p.mu.Unlock()
	_ = p.agent.write(response) // on error the agent's output ends as well
	if tell && response != nil {
		_ = p.editor.write(cancelRequest(q.id)) // on error the editor's input ends as well
	}
}

// settle records the answer of the editor's dialog. It returns the response for the agent, which is
// the editor's unless another answer came first, and optionally a reason to withdraw the ask. An
// unreachable bus delays the response only briefly.
func (p *proxy) settle(life context.Context, q *question, s *stored, r reply) (response []byte, withdraw string) {
	given, err := q.dialect.Reply(&q.ask, r.Result)
	if r.Error != nil || err == nil && given.Decision == dialect.Dismissed {
		return r.line, "cancelled in the editor"
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(life), patience)
		defer cancel()
		err = p.decide(ctx, q, s, given)
	}
	if err == nil {
		return r.line, ""
	}
	if e, ok := errors.AsType[*ask.Error](err); ok && errors.Is(err, ask.ErrResolved) && e.Outcome != nil {
		return result(q.id, q.dialect.Answer(&q.ask, e.Outcome).Body), ""
	}
	p.opts.Logger.WarnContext(life, "cannot record the answer of the editor's dialog; withdrawing", slog.Any("error", err))
	return r.line, "answered in the editor"
}

var errNoDecider = errors.New("no responder for the editor's dialog")

// decide sends the answer of the editor's dialog to the bus.
func (p *proxy) decide(ctx context.Context, q *question, s *stored, given dialect.Given) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.storeErr != nil {
		return s.storeErr
	}
	if p.opts.Decider == nil {
		return errNoDecider
	}
	k := ask.Key{Tenant: q.ask.Tenant, Session: q.ask.Session, ID: s.asked.ID}
	given.Reply.By = p.who.Human
	given.Reply.By.Proof = ask.ProofHostDialog
	var err error
	if given.Decision == dialect.Declined {
		_, err = p.opts.Decider.Decline(ctx, k, given.Reply, given.Reason)
	} else {
		_, err = p.opts.Decider.Answer(ctx, k, given.Reply)
	}
	return err
}
