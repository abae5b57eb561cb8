//go:build sabotage

package broker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/sabotage"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// breakEvent numbers a step wrongly, or keeps the vote that a person has moved beside the new one.
func (b *Broker) breakEvent(s *lifecycle.State, e lifecycle.Event) lifecycle.Event {
	switch e := e.(type) {
	case lifecycle.Stepped:
		if b.opts.Sabotage == sabotage.StepSkipped {
			e.Step.N++
		}
		return e
	case lifecycle.Voted:
		last := e.Votes[len(e.Votes)-1]
		i := slices.IndexFunc(s.Votes(), func(v ask.Vote) bool { return slices.Contains(last.Earlier, v.AnswerID) })
		if b.opts.Sabotage == sabotage.TwoVotes && i >= 0 && last.Stands() {
			e.Votes = slices.Insert(slices.Clone(e.Votes), 0, s.Votes()[i])
		}
		return e
	case lifecycle.Asked, lifecycle.Looked, lifecycle.Relieved, lifecycle.Left, lifecycle.Ended:
	}
	return e
}

// breakStep takes the step that was taken again.
func (b *Broker) breakStep(ctx context.Context, k ask.Key, e lifecycle.Event) {
	step, ok := e.(lifecycle.Stepped)
	if !ok || b.opts.Sabotage != sabotage.StepTwice {
		return
	}
	s, err := b.led.Read(ctx, k)
	if err != nil || !s.Pending() {
		return
	}
	before := *s.Escalated()
	before.Steps = before.Steps[:len(before.Steps)-1]
	s.Will.Escalated = &before
	step.Step.At = step.Step.At.Add(time.Second)
	_ = b.led.Rewrite(ctx, s, step) // if it fails, it is not broken
}

// breakEnded takes a step of an ask that has just ended.
func (b *Broker) breakEnded(ctx context.Context, s *lifecycle.State, o *ask.Outcome) {
	if b.opts.Sabotage != sabotage.StepLate || len(s.Ask.Escalate) == 0 {
		return
	}
	late := *s
	late.Version = 0
	next, ok := late.Ask.NextStep(late.AskedAt, late.Escalated())
	if ok {
		_ = b.led.Rewrite(ctx, late, lifecycle.Stepped{Step: ask.Step{N: next.N, At: later(next.At, o.At.Add(2*time.Second))}})
	}
}

func later(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

// stoodIn are the people for whom somebody has ever stood in, by who did.
var stoodIn struct { //nolint:gochecknoglobals // only of broken builds
	sync.Mutex
	all map[string][]ask.StandIn
}

// breakStandIns adds stand-ins that have ended, or of those who stand in themselves.
func (b *Broker) breakStandIns(ctx context.Context, by *ask.By, s *lifecycle.State, now time.Time, all []ask.StandIn) []ask.StandIn {
	switch b.opts.Sabotage { //nolint:exhaustive // of stand-ins
	case sabotage.StandInEnded:
		stoodIn.Lock()
		defer stoodIn.Unlock()
		if stoodIn.all == nil {
			stoodIn.all = map[string][]ask.StandIn{}
		}
		for _, one := range all {
			one.Tenant, one.Until = "", now.Add(time.Hour)
			stoodIn.all[by.Principal] = append(stoodIn.all[by.Principal], one)
		}
		return append(all, stoodIn.all[by.Principal]...)
	case sabotage.StandInChain:
		for _, one := range all {
			more, err := b.standIns(ctx, &one.Absent, s, now)
			if err != nil {
				return all
			}
			for _, further := range more {
				further.By = by.Principal
				all = append(all, further)
			}
		}
	}
	return all
}
