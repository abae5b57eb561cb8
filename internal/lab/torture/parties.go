package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// agent returns the asks of a key's session.
func (d *driver) agent(k ask.Key) client.Session { return d.agents[k.InSession()] }

// ask asks while the bus cannot have forgotten the ask: after that the same id would be a new ask.
func (d *driver) ask(ctx context.Context, k ask.Key, a ask.Ask, who string, last time.Time) (time.Time, Code) {
	ctx, cancel := context.WithDeadline(ctx, last)
	defer cancel()
	began := d.h.now()
	st, err := d.agent(k).Ask(ctx, a)
	code, _ := codeOf(err)
	e := Event{Began: began, Who: who, Op: OpAsk, Key: k, Life: a.Title, Code: code, Truth: d.h.truth(st.Outcome)}
	if code == OK {
		e.Deadline = st.Deadline.Sub(d.h.start)
	}
	d.h.add(e)
	return st.Deadline, code
}

// askHeld asks with one plain request that gets the outcome as its reply.
func (d *driver) askHeld(ctx context.Context, k ask.Key, s *script) {
	data, err := wire.EncodeAsk(&s.ask)
	if err != nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, d.remembered(time.Now().Add(s.ask.Timeout)))
	defer cancel()
	began := d.h.now()
	ev := cloudevent.Event{ID: cloudevent.NewID(), Source: cloudevent.AgentSource(k.Tenant, k.Session), Type: cloudevent.TypeAsked, Key: k, Time: time.Now(), Data: data}
	typ, body, err := connection.Event(ctx, connection.On(d.agentConns[k.InSession()]), subject.Agent(k, subject.VerbAsk), ev, s.ask.Timeout+5*time.Second)
	e := Event{Began: began, Who: "plain agent", Op: OpAsk, Key: k, Life: s.life()}
	e.Code, _ = codeOf(err)
	if err == nil && typ == cloudevent.TypeResolved {
		if o, err := wire.DecodeOutcome(body); err == nil {
			e.Truth = d.h.truth(&o)
			if o.Ask != nil {
				e.Deadline = o.Ask.Deadline.Sub(d.h.start)
			}
		}
	}
	if e.Code == OK && e.Truth == nil {
		e.Code = Unknown // a status at the end of the hold; the other asker's reply has more
	}
	d.h.add(e)
}

// remembered returns until when an ask with this deadline may be repeated.
func (d *driver) remembered(deadline time.Time) time.Time { return deadline.Add(d.retention / 6) }

func (d *driver) wait(ctx context.Context, k ask.Key, life string) *ask.Outcome {
	began := d.h.now()
	o, err := d.agent(k).Wait(ctx, k.ID)
	code, _ := codeOf(err)
	e := Event{Began: began, Who: "agent", Op: OpWait, Key: k, Life: life, Code: code}
	if err == nil {
		e.Truth = d.h.truth(&o)
	} else if ctx.Err() != nil && d.running() {
		e.Code = GaveUp
	}
	d.h.add(e)
	if err != nil {
		return nil
	}
	return &o
}

func (d *driver) get(ctx context.Context, k ask.Key, life string) {
	began := d.h.now()
	rec, err := d.agent(k).Get(ctx, k.ID)
	code, _ := codeOf(err)
	e := Event{Began: began, Who: "agent", Op: OpGet, Key: k, Life: life, Code: code, Truth: d.h.truth(rec.Outcome)}
	if err == nil && rec.Outcome == nil && rec.Ask.Title == life {
		e.Ladder = ladderOf(&rec.Ask, rec.AskedAt, rec.Escalated, d.h.start)
	}
	d.h.add(e)
}

func (d *driver) withdraw(ctx context.Context, k ask.Key, life string) {
	began := d.h.now()
	o, err := d.agent(k).Withdraw(ctx, k.ID, "changed my mind")
	d.told(Event{Began: began, Who: "agent", Op: OpWithdraw, Key: k, Life: life}, o, err)
}

func (d *driver) abort(ctx context.Context, k ask.Key, life string) {
	began := d.h.now()
	o, err := d.operator.Session(k.Tenant, k.Session).Abort(ctx, k.ID, "enough")
	d.told(Event{Began: began, Who: "operator", Op: OpAbort, Key: k, Life: life}, o, err)
}

// reply answers or declines as a person at a surface.
func (d *driver) reply(ctx context.Context, k ask.Key, s *script, a act) {
	r, mine := d.people[a.typ], fmt.Sprintf("%s-%d-%d%s", a.typ, s.index, d.answers.Add(1), d.name)
	began := d.h.now()
	var o ask.Outcome
	var err error
	switch a.op { //nolint:exhaustive // the others answer
	case OpUnvote:
		by := a.person(d.shape.run)
		var left []ask.Vote
		if left, err = r.Unvote(ctx, k, mine, by); err == nil {
			err = tookBack(left, mine, by.Principal)
		}
	case OpDecline:
		o, err = r.Cancel(ctx, k, responder.Decline{AnswerID: mine, Reason: "not mine to say", By: a.person(d.shape.run)})
	default:
		o, err = r.Answer(ctx, k, ask.Reply{AnswerID: mine, By: a.person(d.shape.run), Answers: []ask.Answer{{QuestionID: "go", Selected: []string{a.pick}, Notes: mine}}})
	}
	e := Event{Began: began, Who: a.typ, Op: a.op, Key: k, Life: s.life(), Mine: mine, Outsider: a.outsider && len(s.ask.Audience) > 0}
	d.told(e, o, err)
}

// errUnchanged means that a vote had been taken back before, or had ended with the vote of the absent
// person for whom it was given.
var errUnchanged = errors.New("there is no vote to take back")

// tookBack returns what a reply to a vote that is taken back says by the votes that are left: that it
// is counted, as a vote that says nothing, or that it changed nothing. Of a vote that stands it
// says that it is counted, which the check then finds to be wrong.
func tookBack(left []ask.Vote, id, principal string) error {
	for i := range left {
		if v := &left[i]; v.By.Principal == principal && v.AnswerID != id && !slices.Contains(v.Earlier, id) && !v.Stands() {
			return errUnchanged
		}
	}
	return ask.ErrVoted
}

// told records the result of a call that ends an ask.
func (d *driver) told(e Event, o ask.Outcome, err error) {
	code, winner := codeOf(err)
	if err == nil {
		winner = &o
	}
	e.Code, e.Truth = code, d.h.truth(winner)
	d.h.add(e)
}
