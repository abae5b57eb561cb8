package hook

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// record sends the answer of the host's dialog. An answer that does not fit the question is sent as
// free text. If it is not allowed, because of an audience or a credential that cannot answer, the
// ask is withdrawn, so that no other screen shows a decided question.
func (r *run) record(ctx context.Context, a *ask.Ask, reply ask.Reply) error {
	if r.h.opts.Answerer == nil {
		return r.withdraw(ctx, a, reply, errors.New("no responder for the host's dialog"))
	}
	_, err := r.h.opts.Answerer.Answer(ctx, a.Key(), reply)
	if errors.Is(err, ask.ErrInvalid) && len(reply.Answers) > 0 {
		_, err = r.h.opts.Answerer.Answer(ctx, a.Key(), worded(a, reply))
	}
	if err == nil || errors.Is(err, ask.ErrResolved) {
		return nil
	}
	return r.withdraw(ctx, a, reply, err)
}

// withdraw closes the other screens; the reason contains the answer.
func (r *run) withdraw(ctx context.Context, a *ask.Ask, reply ask.Reply, cause error) error {
	r.h.opts.Logger.WarnContext(ctx, "cannot record the answer of the host's dialog; withdrawing", slog.String("ask_id", a.ID), slog.Any("error", cause))
	reason := []rune("answered in the agent's own dialog: " + worded(a, reply).Response)
	_, err := r.asks.Withdraw(ctx, a.ID, string(reason[:min(len(reason), ask.MaxText)]))
	if errors.Is(err, ask.ErrResolved) {
		return nil
	}
	return err
}

// worded returns a reply as free text.
func worded(a *ask.Ask, reply ask.Reply) ask.Reply {
	var lines []string
	for _, ans := range reply.Answers {
		q := a.Question(ans.QuestionID)
		if q == nil || ans.Empty() {
			continue
		}
		line := q.Words(ans)
		if len(a.Questions) > 1 {
			line = q.Text + " " + line
		}
		lines = append(lines, line)
	}
	if reply.Response != "" {
		lines = append(lines, reply.Response)
	}
	reply.Answers, reply.Response = nil, strings.Join(lines, "\n")
	return reply
}
