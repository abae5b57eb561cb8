package askbustest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// ResponderType is the responder type that [Bus.Answer] and [Bus.Script] use.
const ResponderType = "test"

// Person returns the person who answers when a reply names nobody.
func Person() ask.By { return ask.By{Principal: "test:mei", Name: "Mei", Proof: "test"} }

// Answer calls f for every pending and every new ask until the bus ends, and
// sends the replies. It calls f once for an ask and never concurrently; if ok
// is false, the ask stays pending. A reply without By is from [Person]. An ask
// that has ended meanwhile is ignored; a reply that the broker refuses fails
// the test.
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

// Rule says how a person answers a question.
type Rule struct {
	Question string // the question's id or exact text; empty: any question
	// Say is the answer as a person types it: an option's label, id or number
	// (several separated by commas), yes or no, a number, a date, or a text.
	Say     string
	Notes   string // a note on the answer
	Decline bool   // decline the whole ask, with Say as the reason
}

// Script answers every ask whose questions all have a rule, as [Bus.Answer]
// does. The first matching rule of a question counts. An ask with a question
// that no rule matches stays pending; an answer that its question does not
// allow fails the test.
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

// people calls act for every pending and new ask until the bus ends.
func (b *Bus) people(act func(*responder.Responder, ask.Ask) error) {
	r := b.Responder(ResponderType)
	fault := func(a *ask.Ask, err error) {
		if b.ctx.Err() == nil && !errors.Is(err, ask.ErrResolved) && !errors.Is(err, nats.ErrConnectionClosed) {
			b.report("askbustest: answer %s: %v", a.Key(), err)
		}
	}
	b.running.Go(func() {
		err := board.Watch(b.ctx, r, func(e board.Event) {
			if e.Kind != board.Pending {
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
