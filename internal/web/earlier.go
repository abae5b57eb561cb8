package web

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

const (
	maxEarlier   = 3                      // earlier answers beside one question
	maxRecalled  = 4                      // questions of one ask that have some
	earlierLimit = 400 * time.Millisecond // for all of them: a page does not wait for its history
)

// earlierView is what somebody answered to the same question before.
type earlierView struct {
	Words string
	Who   string
	At    moment
}

// recall puts earlier answers of the session beside the questions of an ask
// that waits. They are offered to read, and never filled in.
func (s *Server) recall(ctx context.Context, v *askView, record *ask.Record, me ask.By) {
	if v == nil || record.State != ask.StatePending {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, earlierLimit)
	defer cancel()
	a := &record.Ask
	for i := range a.Questions[:min(len(a.Questions), maxRecalled, len(v.Questions))] {
		q := responder.Query{Tenant: a.Tenant, Session: a.Session, State: ask.StateResolved, Question: a.Questions[i].Text, Limit: 100}
		var found []earlierView // the oldest first
		for {
			page, err := s.asks.List(ctx, q)
			if err != nil {
				s.opts.Logger.DebugContext(ctx, "no earlier answers", slog.String("ask_id", a.ID), slog.Any("error", err))
				return // half of the history could leave out the latest
			}
			for j := range page.Items {
				if one, ok := s.earlier(&page.Items[j], a.Questions[i].Text, me); ok {
					found = append(found, one)
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		latest := found[max(0, len(found)-maxEarlier):]
		slices.Reverse(latest)
		v.Questions[i].Earlier = latest
	}
}

// earlier is what a person answered to a question of this text. Defaults are
// nobody's answer.
func (s *Server) earlier(r *ask.Record, text string, me ask.By) (earlierView, bool) {
	if r.Outcome == nil || r.Outcome.Status != ask.StatusAnswered {
		return earlierView{}, false
	}
	for i := range r.Ask.Questions {
		q := &r.Ask.Questions[i]
		if words := said(q, r.Outcome.Answer(q.ID)); q.Text == text && words != "" {
			return earlierView{Words: clip(words, 120), Who: who(r.Outcome.By, me), At: agoOf(r.Outcome.At, s.opts.Now())}, true
		}
	}
	return earlierView{}, false
}
