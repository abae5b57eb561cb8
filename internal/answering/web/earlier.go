package web

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

const (
	maxEarlier   = 3                     // earlier answers shown beside one question
	maxRecalled  = 4                     // questions of one ask that show earlier answers
	maxHistory   = 5                     // pages of history that are read per question
	earlierLimit = 2 * time.Second       // for all reads of one ask
	earlierWait  = 50 * time.Millisecond // how long a page waits; later pages show what has arrived since
	maxMemory    = 1000                  // asks whose history is remembered,
	maxRecall    = 16 << 20              // which has at most these bytes
)

// memory caches the earlier answers for the asks on screens. They are read once
// for each ask, however often it is drawn; a failed read is repeated when it is
// drawn again.
type memory struct {
	slots   chan struct{}   // bounds concurrent reads
	life    context.Context //nolint:containedctx // of the reads: pages share them; ends with close
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	asked map[string]*recollection // by life
	size  int                      // bytes that were read for them
}

// recollection is the history of one ask, by question.
type recollection struct {
	done    chan struct{}
	records [][]ask.Record // newest first; read only after done is closed
}

func newMemory() *memory {
	life, end := context.WithCancel(context.Background())
	return &memory{slots: make(chan struct{}, 4), life: life, end: end, asked: map[string]*recollection{}}
}

// close cancels the running reads and waits for them. None begins after it.
func (m *memory) close() {
	m.mu.Lock()
	m.end()
	m.mu.Unlock()
	m.running.Wait()
}

// recall shows earlier answers of the session beside the questions of a pending
// ask. They are never filled in.
func (s *Server) recall(v *askView, record *ask.Record, me board.Viewer) {
	if v == nil || record.State != ask.StatePending {
		return
	}
	one := s.recollect(record)
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
			if e, ok := card.NewEarlier(&one.records[i][j], record.Ask.Questions[i].Text, viewer(me), s.opts.Now()); ok && i < len(v.Questions) {
				v.Questions[i].Earlier = append(v.Questions[i].Earlier, e)
			}
		}
	}
}

// recollect returns the history of an ask, which may not be read yet.
func (s *Server) recollect(record *ask.Record) *recollection {
	m := s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.asked[record.Life]; one != nil {
		return one
	}
	if len(m.asked) >= maxMemory || m.size > maxRecall {
		clear(m.asked)
		m.size = 0
	}
	one := &recollection{done: make(chan struct{})}
	if m.life.Err() != nil {
		return one
	}
	select {
	case m.slots <- struct{}{}:
	default: // too many reads at once: this page has no history, the next one tries again
		return one
	}
	m.asked[record.Life] = one
	a, life := record.Ask, record.Life
	m.running.Go(func() {
		defer func() { <-m.slots }()
		defer close(one.done)
		ctx, cancel := context.WithTimeout(m.life, earlierLimit)
		defer cancel()
		for i := range a.Questions[:min(len(a.Questions), maxRecalled)] {
			records, err := s.history(ctx, &a, a.Questions[i].Text)
			if err != nil {
				s.opts.Logger.Debug("no earlier answers", slog.String("ask_id", a.ID), slog.Any("error", err))
				m.forget(life, one)
				return // a partial history could omit the latest answers
			}
			one.records = append(one.records, records)
		}
		m.count(life, one)
	})
	return one
}

// count adds what was read to what is remembered.
func (m *memory) count(life string, one *recollection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked[life] != one {
		return // forgotten meanwhile
	}
	for _, records := range one.records {
		for i := range records {
			m.size += sizeOfBrief(&records[i])
		}
	}
}

// forget removes a failed read, so that the next page reads again.
func (m *memory) forget(life string, one *recollection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked[life] == one {
		delete(m.asked, life)
	}
}

// history reads the latest answers of a session to a question. It returns none
// if the history is longer than maxHistory pages, because the latest answers
// are at its end.
func (s *Server) history(ctx context.Context, a *ask.Ask, question string) ([]ask.Record, error) {
	q := responder.Query{Tenant: a.Tenant, Session: a.Session, State: ask.StateResolved, Question: question, PageSize: 100}
	var found []ask.Record // the latest, oldest first
	for range maxHistory {
		page, err := s.asks.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for j := range page.Items {
			if _, ok := card.NewEarlier(&page.Items[j], question, card.Viewer{}, time.Time{}); ok {
				found = append(found, brief(&page.Items[j], question))
			}
		}
		found = slices.Clone(found[max(0, len(found)-maxEarlier):])
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Reverse(found)
			return found, nil
		}
	}
	return nil, nil
}

// brief returns the part of an ended ask that [card.NewEarlier] reads for a
// question, and who may see it.
func brief(r *ask.Record, question string) ask.Record {
	short := ask.Record{State: r.State, Ask: ask.Ask{ID: r.Ask.ID, Tenant: r.Ask.Tenant, Session: r.Ask.Session, Audience: r.Ask.Audience}}
	short.Outcome = &ask.Outcome{Status: r.Outcome.Status, By: r.Outcome.By, At: r.Outcome.At}
	for i := range r.Ask.Questions {
		q := &r.Ask.Questions[i]
		answer := r.Outcome.Answer(q.ID)
		if q.Text != question || answer == nil {
			continue
		}
		part := ask.Question{ID: q.ID, Text: question}
		for _, id := range answer.Selected {
			if o := q.Option(id); o != nil {
				part.Options = append(part.Options, ask.Option{ID: o.ID, Label: o.Label})
			}
		}
		short.Ask.Questions = append(short.Ask.Questions, part)
		said := *answer
		said.Notes = ""
		short.Outcome.Answers = append(short.Outcome.Answers, said)
	}
	return short
}

// sizeOfBrief estimates the memory of what [brief] returned.
func sizeOfBrief(r *ask.Record) int {
	n := 2048
	for i := range r.Ask.Questions {
		for j := range r.Ask.Questions[i].Options {
			n += 256 + len(r.Ask.Questions[i].Options[j].Label)
		}
	}
	for i := range r.Outcome.Answers {
		a := &r.Outcome.Answers[i]
		n += 512 + 64*len(a.Selected) + len(a.Other) + len(a.Text)
	}
	for _, who := range r.Ask.Audience {
		n += 16 + len(who)
	}
	return n
}
