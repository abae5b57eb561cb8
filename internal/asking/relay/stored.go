package relay

import (
	"context"
	"errors"
	"log/slog"

	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// stored is a question on the bus.
type stored struct {
	p    *proxy
	stop context.CancelFunc

	ready    chan struct{} // closed when it is stored or storeErr is set
	asked    client.Asked
	asks     client.Session
	storeErr error

	ended   chan struct{} // closed after ready when it has ended or waitErr is set
	outcome *ask.Outcome
	waitErr error

	done chan struct{}
}

// publish stores the ask and waits for its outcome in the background. An ask that is being stored
// when life ends is stored and then withdrawn.
func (p *proxy) publish(life context.Context, q *Question) *stored {
	ctx, cancel := context.WithCancel(context.WithoutCancel(life))
	s := &stored{p: p, stop: cancel, ready: make(chan struct{}), ended: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if s.storeErr = s.store(ctx, q); s.storeErr != nil {
			close(s.ready)
			return
		}
		close(s.ready)
		o, err := s.asked.Wait(ctx)
		if err == nil {
			s.outcome = &o
		}
		s.waitErr = err
		close(s.ended)
	}()
	return s
}

func (s *stored) store(ctx context.Context, q *Question) error {
	asks, err := s.p.open.Open(ctx, q.Ask.Tenant, q.Ask.Session)
	if err != nil {
		return err
	}
	own := q.Ask // the ask of the dialogs keeps what the agent sent
	s.asks = asks
	if own.Files, err = s.upload(ctx, q); err != nil {
		return err
	}
	s.asked, err = sameask.Ask(ctx, asks, &own, sameask.Origin{Once: true, Waits: true})
	return err
}

// upload uploads the files of the ask, and returns those that arrived: what cannot be shown does not keep a question from people,
// but nobody permits what is not shown.
func (s *stored) upload(ctx context.Context, q *Question) (files []ask.File, err error) {
	for _, f := range q.Files {
		is, err := s.asks.Upload(ctx, f.Name, f.Data)
		if err != nil && q.Ask.Permits() {
			return nil, err
		}
		if err != nil {
			s.p.opts.Logger.WarnContext(ctx, "a file of the question is not shown", slog.String("file", f.ID), slog.Any("error", err))
			continue
		}
		files = append(files, is)
	}
	q.Files = nil // they are not kept in memory while people think
	return files, nil
}

// withdraw withdraws the ask; an empty reason does nothing.
func (s *stored) withdraw(life context.Context, reason string) {
	if reason == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), patience)
	defer cancel()
	select {
	case <-s.ready:
	case <-ctx.Done():
		s.p.opts.Logger.WarnContext(life, "the bus did not confirm the question; it may stay open")
		return
	}
	if s.storeErr != nil {
		return
	}
	if _, err := s.asks.Withdraw(ctx, s.asked.ID, reason); err != nil && !errors.Is(err, ask.ErrResolved) && !errors.Is(err, ask.ErrNotFound) {
		s.p.opts.Logger.WarnContext(life, "the question could not be withdrawn", slog.String("ask_id", s.asked.ID), slog.Any("error", err))
	}
}

// close ends the wait.
func (s *stored) close() {
	s.stop()
	<-s.done
}
