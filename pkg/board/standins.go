package board

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// SharedStandIns is who stands in for whom, as the bus's shared state has it; see
// [Options.Shared]. Its board runs it.
type SharedStandIns struct {
	r      *source
	cache  *state.Cache
	people func() []ask.By // whom the board has seen

	mu   sync.RWMutex
	held map[state.Key]ask.StandIn
}

func newStandIns(r *source, people func() []ask.By) *SharedStandIns {
	s := &SharedStandIns{r: r, people: people, held: map[state.Key]ask.StandIn{}}
	s.cache = r.cache(state.StandIns, s.follow)
	return s
}

// Of returns those who are away now and have this person as stand-in, the earliest
// first, also under another principal of that person in the operator's list of people.
func (s *SharedStandIns) Of(by ask.By) []ask.StandIn {
	now := time.Now()
	return s.those(func(one *ask.StandIn) bool { return one.Is(by) && now.Before(one.Until) })
}

// All returns who stands in for whom, the earliest first.
func (s *SharedStandIns) All() []ask.StandIn {
	return s.those(func(*ask.StandIn) bool { return true })
}

func (s *SharedStandIns) those(want func(*ask.StandIn) bool) (all []ask.StandIn) {
	s.mu.RLock()
	for one := range maps.Values(s.held) {
		if want(&one) {
			all = append(all, one)
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(all, func(x, y ask.StandIn) int { return x.Since.Compare(y.Since) })
	return all
}

// Set is [Away] among the people whom the board has seen.
func (s *SharedStandIns) Set(ctx context.Context, a responder.Away) (ask.StandIn, error) {
	return Away(ctx, s.r.Responder, a, func(context.Context) ([]ask.By, error) { return s.people(), nil })
}

// Away is [responder.Responder.Away], with a stand-in who may also be called as one of these people is, as in
// [Board.HandOver]. The operator's list of people goes first: a display name is often its owner's choice.
func Away(ctx context.Context, r *responder.Responder, a responder.Away, people func(context.Context) ([]ask.By, error)) (ask.StandIn, error) {
	one, err := r.Away(ctx, a)
	e, refused := errors.AsType[*ask.Error](err)
	if !refused || strings.Contains(a.To, ":") || !slices.ContainsFunc(e.Faults, func(f ask.Fault) bool { return f.Code == ask.FaultNoStandIn }) {
		return one, err
	}
	others, unread := people(ctx)
	if unread != nil {
		return ask.StandIn{}, unread
	}
	others = slices.DeleteFunc(slices.Clone(others), func(p ask.By) bool { return p.Principal == a.By.Principal })
	switch by, fault := named(others, ask.CleanLine(a.To)); {
	case fault == nil:
		a.To = by.Principal
		return r.Away(ctx, a)
	case fault.Code == ask.FaultSeveralPeople:
		several := ask.Refuse(ask.CodeInvalid, "invalid stand-in %.80q", a.To)
		several.Faults = []ask.Fault{*fault}
		return ask.StandIn{}, several
	}
	return one, err // which names what was given
}

// follow applies what any broker wrote.
func (s *SharedStandIns) follow(old, now *state.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now == nil {
		delete(s.held, old.Key)
		return
	}
	if one, err := state.StandInOf(now); err == nil {
		s.held[now.Key] = one
	}
}
