package responder

import (
	"context"
	"errors"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
)

// Escalator is implemented by a [Presenter] that tells people of the steps of an ask's ladder. Escalate tells those
// whom the steps name ([ask.Ask.Tells]) that the ask, rec, still waits; places are those of its posts. It returns the
// places of new posts, if it makes any that Update has to edit. It is called after Present, once for all steps that
// were taken meanwhile, and again after an error or a crash between it and its receipt: people may then be told twice,
// but never not at all. A place that was deleted is not an error. Without it, steps of this type are not told.
// It also tells that one person decided an ask alone: rec then has that outcome, places already show it, and nothing that
// it makes is updated any more.
type Escalator interface {
	Escalate(ctx context.Context, p Post, rec ask.Record, steps []ask.Step, places []ask.Place) ([]ask.Place, error)
}

// owed returns the steps of which this type has not told yet.
func (s *Server) owed(it *Item) []ask.Step {
	if _, ok := s.p.(Escalator); !ok {
		return nil
	}
	return it.Escalated.Since(it.step(), s.r.typ)
}

// step returns the last step of which the item's receipt says that people were told.
func (it *Item) step() int {
	if it.Receipt == nil {
		return 0
	}
	return it.Receipt.Step
}

// rewritten reports whether the work is for what has happened to an ask since it was asked: a vote, or a step.
func (it *Item) rewritten() bool { return len(it.Votes) > 0 || it.Escalated != nil }

// escalate tells of the steps that are owed, and records that. It returns the places of the posts.
func (s *Server) escalate(ctx context.Context, it *Item, p Post, places []ask.Place) ([]ask.Place, error) {
	steps := s.owed(it)
	if len(steps) == 0 {
		return places, nil
	}
	rec := ask.Record{State: ask.StatePending, Ask: p.Ask, AskedAt: it.AskedAt, Life: it.Life, Votes: it.Votes, Escalated: it.Escalated}
	var more []ask.Place
	err := s.edit(ctx, p, p.rank(), func(ctx context.Context) (err error) {
		more, err = s.p.(Escalator).Escalate(ctx, p, rec, steps, places) //nolint:errcheck,forcetypeassert // owed checks it
		return err
	})
	if err != nil {
		return places, err
	}
	for _, one := range more {
		if len(places) < ask.MaxPlaces {
			places = append(slices.Clip(places), one)
		}
	}
	if it.Receipt == nil {
		it.Receipt = &ask.Receipt{Life: it.Life, State: ask.ReceiptPosted}
	}
	with := *it.Receipt
	with.Step = steps[len(steps)-1].N
	it.Receipt = &with
	ended, err := s.receipt(ctx, *it, ask.ReceiptPosted, p.Key, places)
	switch {
	case errors.Is(err, errEnded):
		return places, nil
	case err != nil:
		return places, &LaterError{After: retryWork, Err: err}
	case ended:
		return places, s.endedMeanwhile(ctx, *it, p, places)
	}
	return places, nil
}

// tellAlone tells everybody whom an ask is about that one person decided it alone, as of a step of its ladder, and
// records that: a repetition of the work does not tell them again.
func (s *Server) tellAlone(ctx context.Context, it Item, places []ask.Place) error {
	e, ok := s.p.(Escalator)
	if !ok || it.Outcome.BreakGlass == nil {
		return nil
	}
	step, p := it.Outcome.AloneStep(), s.post(it)
	if it.step() >= step.N {
		return nil
	}
	p.Steps = []ask.Step{step}
	rec := ask.Record{State: ask.StateResolved, Ask: p.Ask, AskedAt: it.AskedAt, Life: it.Life, Outcome: it.Outcome}
	err := s.edit(ctx, p, Rank{Urgent: true, At: step.At}, func(ctx context.Context) error {
		_, err := e.Escalate(ctx, p, rec, p.Steps, places)
		return err
	})
	if err != nil {
		return err
	}
	told := *it.Receipt
	told.Step = step.N
	it.Receipt = &told
	if _, err := s.receipt(ctx, it, ask.ReceiptPosted, p.Key, places); err != nil && !errors.Is(err, errEnded) {
		return &LaterError{After: retryWork, Err: err}
	}
	return nil
}
