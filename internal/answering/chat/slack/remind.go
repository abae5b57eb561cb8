package slack

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of reminders.
const (
	remindBefore = 10 * time.Minute // the deadline
	remindFrom   = 30 * time.Minute // an ask that has less time has no reminder
)

// remindAt returns when people are reminded of an ask, and whether they are.
func remindAt(rec *ask.Record) (at time.Time, ok bool) {
	deadline, declared := rec.Deadline()
	return deadline.Add(-remindBefore), declared && deadline.Sub(rec.AskedAt) >= remindFrom
}

// remind lets Slack post a reminder below the card of an ask before its deadline, whatever becomes of this process. Its
// text has the card's address, by which it is found when the ask ends.
func (p presenter) remind(ctx context.Context, a asked, m message) {
	at, ok := remindAt(&a.Record)
	if !ok || !at.After(p.Clock.Now()) {
		return
	}
	deadline, _ := a.Record.Deadline()
	text := ":alarm_clock: <" + p.where(m) + "|" + clipBytes(escape(card.Heading(&a.Record.Ask)), 200) + "> · " + a.Card.Say("ends %s", dayAndTime(deadline))
	if len(a.Mentions) > 0 {
		text += " · " + mentions(a.Mentions)
	}
	p.after.Do(ctx, func(ctx context.Context) {
		id, err := p.api.schedule(ctx, m, at, text)
		if err != nil {
			p.Log.InfoContext(ctx, "cannot schedule a reminder", slog.String("ask_id", a.Record.Ask.ID), slog.String("error", err.Error()))
			return
		}
		p.reminders.Add(m.Ref(), id)
		if rec, err := p.Bus.Get(ctx, a.Record.Ask.Key()); err == nil && (rec.Outcome != nil || rec.Life != a.Life) { // meanwhile
			p.reminders.Add(m.Ref(), "")
			_ = p.api.unschedule(ctx, m.Channel, id) // the replica that showed the end may have done it
		}
	})
}

// unremind removes the reminders of an ended ask. After a restart it looks for them.
func (p presenter) unremind(ctx context.Context, e *responder.Ended, cards []ask.Place) {
	rec := ask.Record{Ask: e.Ask, AskedAt: e.Outcome.At.Add(-e.Outcome.Waited)}
	at, ok := remindAt(&rec)
	if !ok || !at.After(p.Clock.Now()) {
		return
	}
	for _, one := range cards {
		m, ok := chat.ParseMessage(one.Ref)
		id, known := p.reminders.Get(one.Ref)
		if !ok || known && id == "" {
			continue
		}
		p.reminders.Add(one.Ref, "") // an ask's end is drawn more than once
		p.after.Do(ctx, func(ctx context.Context) {
			var err error
			if id == "" {
				id, err = p.api.scheduled(ctx, m.Channel, at, func(text string) bool { return strings.Contains(text, p.where(m)) })
			}
			if err == nil && id != "" {
				err = p.api.unschedule(ctx, m.Channel, id)
			}
			if err != nil {
				p.reminders.Remove(one.Ref) // the next try of the edit looks for it again
				p.Log.InfoContext(ctx, "cannot remove a reminder", slog.String("ask_id", e.Ask.ID), slog.String("error", err.Error()))
			}
		})
	}
}
