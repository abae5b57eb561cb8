package askbustest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// ResponderType is the responder type through which [Bus.Answer] and
// [Bus.Script] answer.
const ResponderType = "test"

// Person is who answers when a reply does not say who.
func Person() ask.By { return ask.By{Principal: "test:mei", Name: "Mei", Proof: "test"} }

// Answer has f answer every ask that is pending, and every one that comes, until
// the bus ends. It is called once for an ask, for one at a time; with ok false
// the ask stays pending. A reply without By is from [Person]. An ask that has
// ended meanwhile is not a fault; a reply that the broker refuses fails the test.
func (b *Bus) Answer(f func(a ask.Ask) (r ask.Reply, ok bool)) {
	b.people(func(r *responder.Responder, a ask.Ask) error {
		reply, ok := f(a)
		if !ok {
			return nil
		}
		if reply.By.Principal == "" {
			reply.By = Person()
		}
		_, err := r.Answer(b.ctx, a.Key(), reply)
		return err
	})
}

// Rule is what a person does with a question.
type Rule struct {
	Question string // the question's id or exact text; empty: any question
	// Say is the answer as a person types it: an option's label, id or number
	// (several with commas between them), yes or no, a number, a date, or a text.
	Say     string
	Notes   string // what the person adds to the answer
	Decline bool   // declines the whole ask; Say is the reason
}

// Script answers every ask whose questions all have a rule, as [Bus.Answer]
// does. The first rule that fits a question counts. An ask with a question that
// no rule fits stays pending; what a rule says and its
// question does not allow fails the test.
func (b *Bus) Script(rules ...Rule) {
	b.people(func(r *responder.Responder, a ask.Ask) error {
		reply := ask.Reply{By: Person()}
		for i := range a.Questions {
			q := &a.Questions[i]
			rule := find(rules, q)
			switch {
			case rule == nil:
				return nil
			case rule.Decline:
				_, err := r.Cancel(b.ctx, a.Key(), responder.Decline{Reason: rule.Say, By: reply.By})
				return err
			}
			answer, err := q.ParseReply(rule.Say)
			if err != nil {
				return fmt.Errorf("the rule for question %s: %w", q.ID, err)
			}
			if rule.Notes != "" {
				answer.Notes = rule.Notes
			}
			reply.Answers = append(reply.Answers, answer)
		}
		_, err := r.Answer(b.ctx, a.Key(), reply)
		return err
	})
}

func find(rules []Rule, q *ask.Question) *Rule {
	for i := range rules {
		if at := rules[i].Question; at == "" || at == q.ID || strings.TrimSpace(at) == q.Text {
			return &rules[i]
		}
	}
	return nil
}

// people calls act for every pending ask, until the bus ends.
func (b *Bus) people(act func(*responder.Responder, ask.Ask) error) {
	r := b.Responder(ResponderType)
	fault := func(a *ask.Ask, err error) {
		if b.ctx.Err() == nil && !errors.Is(err, ask.ErrResolved) && !errors.Is(err, nats.ErrConnectionClosed) {
			b.report("askbustest: answer %s: %v", a.Key(), err)
		}
	}
	b.running.Go(func() {
		err := r.Watch(b.ctx, func(e responder.Event) {
			if e.Kind != responder.Pending {
				return
			}
			if err := act(r, e.Record.Ask); err != nil {
				fault(&e.Record.Ask, err)
			}
		})
		if err != nil && b.ctx.Err() == nil {
			b.report("askbustest: %v", err)
		}
	})
}
