package web

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

const (
	maxEarlier   = 3                     // earlier answers shown beside one question
	maxRecalled  = 4                     // questions of one ask that show earlier answers
	maxHistory   = 5                     // pages of history that are read per question
	earlierLimit = 2 * time.Second       // for all reads of one ask
	earlierWait  = 50 * time.Millisecond // how long a page waits; later pages show what has arrived since
	maxMemory    = 1000                  // asks whose history is remembered
)

// memory caches the earlier answers for the asks on screens. They are read once
// for each ask, however often it is drawn.
type memory struct {
	slots chan struct{} // bounds concurrent reads

	mu    sync.Mutex
	asked map[string]*recollection // by life
}

// recollection is the history of one ask, by question.
type recollection struct {
	done    chan struct{}
	records [][]ask.Record // newest first; read only after done is closed
}

func newMemory() *memory {
	return &memory{slots: make(chan struct{}, 4), asked: map[string]*recollection{}}
}

// recall shows earlier answers of the session beside the questions of a pending
// ask. They are never filled in.
func (s *Server) recall(ctx context.Context, v *askView, record *ask.Record, me responder.Viewer) {
	if v == nil || record.State != ask.StatePending {
		return
	}
	one := s.recollect(ctx, record)
	late := time.NewTimer(earlierWait)
	defer late.Stop()
	select {
	case <-one.done:
	case <-late.C:
		return
	}
	for i := range one.records {
		for j := range one.records[i] {
			if past := &one.records[i][j].Ask; !me.Sees(past.Key(), past.Audience) {
				continue
			}
			if e, ok := present.NewEarlier(&one.records[i][j], record.Ask.Questions[i].Text, viewer(me), s.opts.Now()); ok && i < len(v.Questions) {
				v.Questions[i].Earlier = append(v.Questions[i].Earlier, e)
			}
		}
	}
}

// recollect returns the history of an ask, which may not be read yet.
func (s *Server) recollect(ctx context.Context, record *ask.Record) *recollection {
	m := s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.asked[record.Life]; one != nil {
		return one
	}
	if len(m.asked) >= maxMemory {
		clear(m.asked)
	}
	one := &recollection{done: make(chan struct{})}
	select {
	case m.slots <- struct{}{}:
	default: // too many reads at once: this page has no history, the next one tries again
		return one
	}
	m.asked[record.Life] = one
	a := record.Ask
	go func() {
		defer func() { <-m.slots }()
		defer close(one.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), earlierLimit) // the next page uses the result, even if this reader leaves
		defer cancel()
		for i := range a.Questions[:min(len(a.Questions), maxRecalled)] {
			records, err := s.history(ctx, &a, a.Questions[i].Text)
			if err != nil {
				s.opts.Logger.Debug("no earlier answers", slog.String("ask_id", a.ID), slog.Any("error", err))
				return // a partial history could omit the latest answers
			}
			one.records = append(one.records, records)
		}
	}()
	return one
}

// history reads the latest answers of a session to a question. It returns none
// if the history is longer than maxHistory pages, because the latest answers
// are at its end.
func (s *Server) history(ctx context.Context, a *ask.Ask, question string) ([]ask.Record, error) {
	q := responder.Query{Tenant: a.Tenant, Session: a.Session, State: ask.StateResolved, Question: question, PageSize: 100}
	var found []ask.Record // oldest first
	for range maxHistory {
		page, err := s.asks.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for j := range page.Items {
			if _, ok := present.NewEarlier(&page.Items[j], question, present.Viewer{}, time.Time{}); ok {
				found = append(found, page.Items[j])
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			latest := slices.Clone(found[max(0, len(found)-maxEarlier):])
			slices.Reverse(latest)
			return latest, nil
		}
	}
	return nil, nil
}
