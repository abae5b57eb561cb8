package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// reply is the editor's response to a question.
type reply struct {
	line []byte
	Message
}

func (q *Question) cancel(by canceller) {
	select {
	case q.cancelled <- by:
	default: // cancelled already
	}
}

// asked handles a question of the agent, and forwards it to an editor that can show it.
func (p *proxy) asked(life context.Context, line []byte, q *Question) (pass []byte, after func()) {
	p.complete(q)
	p.mu.Lock()
	defer p.mu.Unlock()
	id := string(q.ID)
	switch _, twice := p.questions[id]; {
	case twice, p.ending:
		return line, nil
	case q.Unfit != nil, len(p.questions) >= maxOpen:
		if q.Shown {
			p.opts.Logger.WarnContext(life, "only the editor shows the question", slog.Any("error", q.Unfit))
			return line, nil
		}
		why := q.Unfit
		if why == nil {
			why = errTooMany
		}
		_ = p.agent.WriteLine(p.speaks.Refusal(q.ID, why, false)) // on error the agent's output ends as well
		return nil, nil
	}
	p.questions[id] = q
	p.serving.Add(1)
	start := func() { go p.serve(life, q) }
	if !q.Shown {
		return nil, start
	}
	return line, start
}

var errTooMany = errors.New("too many questions are open; wait for answers")

// complete fills in what every question of this proxy has.
func (p *proxy) complete(q *Question) {
	q.reply, q.cancelled = make(chan reply, 1), make(chan canceller, 1)
	a := &q.Ask
	agent := a.Agent
	a.WhileWaiting = !p.who.Outlive
	a.Tenant, a.Agent = p.who.Tenant, p.who.Agent
	a.Agent.Name = cmp.Or(a.Agent.Name, agent.Name, p.speaks.Name())
	a.Agent.Repository, a.Agent.Branch = cmp.Or(a.Agent.Repository, agent.Repository), cmp.Or(a.Agent.Branch, agent.Branch)
	a.Session = cmp.Or(p.who.Session, a.Session)
	switch {
	case a.Session != "":
	case q.Session != "":
		a.Session = ask.Token(q.Session)
	default:
		a.Session = p.who.Fallback
	}
	if a.Timeout == 0 && a.Deadline.IsZero() {
		a.Timeout = p.who.Timeout
	}
}

// serve asks people until one has answered anywhere, or nobody waits.
func (p *proxy) serve(life context.Context, q *Question) {
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
				if body := q.Answer(s.outcome); body != nil {
					p.finish(q, p.speaks.Result(q.ID, body))
					return
				}
				away = errUndecided
			}
		case r := <-q.reply:
			if r.Error == nil || p.speaks.Refused(r.Error) {
				response, reason := p.settle(life, q, s, r)
				p.finish(q, response)
				s.withdraw(life, reason)
				return
			}
			refused = r.line
			p.opts.Logger.WarnContext(life, "the editor cannot show the question", slog.String("error", r.Error.Message))
		case by := <-q.cancelled:
			p.finish(q, q.Withdrawn(by == byAgent))
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
			p.finish(q, p.speaks.Refusal(q.ID, fmt.Errorf("nobody can be asked: %w", away), true))
			return
		default:
			p.opts.Logger.WarnContext(life, "only the editor shows the question", slog.Any("error", away))
		}
	}
}

// shows reports whether the editor has yet to answer.
func (p *proxy) shows(q *Question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return q.Shown && (!q.replied || len(q.reply) > 0)
}

// finish sends the agent its response, and cancels the question in an editor that still shows it.
func (p *proxy) finish(q *Question, response []byte) {
	p.mu.Lock()
	delete(p.questions, string(q.ID))
	open := q.Shown && !q.replied
	tell := open && !q.told
	if open {
		if len(p.late) >= maxLate {
			p.late = p.late[1:]
		}
		p.late = append(p.late, string(q.ID))
	}
	p.mu.Unlock()
	_ = p.agent.WriteLine(response) // on error the agent's output ends as well
	if tell && response != nil {
		_ = p.editor.WriteLine(p.speaks.Close(q.ID)) // on error the editor's input ends as well
	}
}

// settle records the answer of the editor's dialog. It returns the response for the agent, which is
// the editor's unless another answer came first, and optionally a reason to withdraw the ask. An
// unreachable bus delays the response only briefly.
func (p *proxy) settle(life context.Context, q *Question, s *stored, r reply) (response []byte, withdraw string) {
	given, err := q.Reply(r.Result)
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
		if body := q.Answer(e.Outcome); body != nil {
			return p.speaks.Result(q.ID, body), ""
		}
		return r.line, "" // nobody had decided
	}
	p.opts.Logger.WarnContext(life, "cannot record the answer of the editor's dialog; withdrawing", slog.Any("error", err))
	return r.line, "answered in the editor"
}

// errUndecided says that the ask ended, and that only the editor asks.
var errUndecided = errors.New("the ask ended without a decision")

var errNoDecider = errors.New("no responder for the editor's dialog")

// decide sends the answer of the editor's dialog to the bus.
func (p *proxy) decide(ctx context.Context, q *Question, s *stored, given dialect.Given) error {
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
	k := ask.Key{Tenant: q.Ask.Tenant, Session: q.Ask.Session, ID: s.asked.ID}
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
