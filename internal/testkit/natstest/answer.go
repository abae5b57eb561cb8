package natstest

import (
	"context"
	"errors"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// AnswerAll answers every ask with the first option of a choice and with "yes"
// otherwise, until the test ends. It always declares presence.
func (b *Bus) AnswerAll(typ string) {
	b.t.Helper()
	r, err := responder.New(b.Responder(typ), typ, responder.Options{Limit: 1 << 20})
	if err != nil {
		b.t.Fatal(err)
	}
	leave, err := r.Present("", "")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(leave)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	b.t.Cleanup(func() { cancel(); <-done })
	slots := make(chan struct{}, 64)
	go func() {
		defer close(done)
		_ = board.Watch(ctx, r, func(e board.Event) {
			if e.Kind != board.Pending {
				return
			}
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				a := &e.Record.Ask
				reply := ask.Reply{By: ask.By{Principal: "test:mei", Name: "Mei", Proof: "test"}}
				for i := range a.Questions {
					q, answer := &a.Questions[i], ask.Answer{QuestionID: a.Questions[i].ID}
					switch {
					case len(q.Options) > 0:
						answer.Selected = []string{q.Options[0].ID}
					case q.Kind == ask.KindBoolean:
						answer.Boolean = new(true)
					case q.Kind == ask.KindChoice:
						answer.Other = "yes"
					default:
						answer.Text = "yes"
					}
					reply.Answers = append(reply.Answers, answer)
				}
				if _, err := r.Answer(ctx, a.Key(), reply); err != nil && ctx.Err() == nil && !errors.Is(err, ask.ErrResolved) {
					b.t.Errorf("answer %s: %v", a.Key(), err)
				}
			}()
		})
	}()
}
