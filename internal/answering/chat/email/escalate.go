package email

import (
	"context"
	"log/slog"
	"slices"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/wneessen/go-mail"
)

// Escalate mails those whom the steps of a ladder name: the question to who has not got it, else a reminder in its thread.
// It returns the places of the former. Digests do not hold it back.
func (p presenter) Escalate(ctx context.Context, post responder.Post, rec ask.Record, steps []ask.Step, places []ask.Place) (more []ask.Place, err error) {
	var all []string
	told, remind := chat.Told(&rec.Ask, steps)
	if len(told.Audience) > 0 {
		all = p.recipients(&told)
	}
	if remind {
		all = append(all, p.recipients(&rec.Ask)...)
	}
	slices.Sort(all)
	step := steps[len(steps)-1].N
	for _, to := range slices.Compact(all) {
		switch none, err := p.stopped(ctx, rec.Ask.Tenant, to); {
		case err != nil:
			return more, &responder.LaterError{Err: err}
		case none:
			continue
		}
		at := ask.Place{Ref: p.ref(to)}
		again := slices.ContainsFunc(places, func(one ask.Place) bool { return one.Ref == at.Ref })
		part := stepPart(step, again)
		if rec.Outcome != nil { // one person decided alone: also those hear of it who want no mails about outcomes
			part = endPart
		}
		err := p.once(ctx, rec.Ask.Tenant, p.messageID(post.Key, to, part), func() error {
			m, err := p.told(to, &post, &rec, step, again)
			if err != nil {
				return err
			}
			return p.mailer.send(ctx, to, chat.RankOf(&post), m)
		})
		switch {
		case hopeless(err):
			p.Log.WarnContext(ctx, "a mail was refused", slog.String("ask_id", rec.Ask.ID), slog.String("error", err.Error()))
			p.bounced(ctx, rec.Ask.Tenant, to, err.Error())
		case err != nil:
			return more, err // those who have theirs are noted
		case !again:
			more = append(more, at)
		}
	}
	return more, nil
}

// told returns the mail about a step, or that one person decided alone.
func (p presenter) told(to string, post *responder.Post, rec *ask.Record, step int, again bool) (*mail.Msg, error) {
	if rec.Outcome != nil {
		return p.outcome(to, &responder.Ended{Post: *post, Outcome: *rec.Outcome})
	}
	return p.reminder(to, post.Key, rec, step, again)
}
