package hook

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// record sends what the host's dialog answered. An answer that does not fit
// the question goes as words; one that may not be given at all, as with an
// audience or a credential that cannot answer, withdraws the ask: whatever
// happens, no other screen stays open with a question that is decided.
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

// withdraw closes the other screens; the reason says what was answered.
func (r *run) withdraw(ctx context.Context, a *ask.Ask, reply ask.Reply, cause error) error {
	r.h.opts.Logger.WarnContext(ctx, "what the host's dialog answered cannot be recorded; withdrawing", slog.String("ask_id", a.ID), slog.Any("error", cause))
	reason := []rune("answered in the agent's own dialog: " + worded(a, reply).Response)
	_, err := r.asks.Withdraw(ctx, a.ID, string(reason[:min(len(reason), ask.MaxText)]))
	if errors.Is(err, ask.ErrResolved) {
		return nil
	}
	return err
}

// worded is a reply as one text.
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
