package board

import (
	"context"
	"maps"
	"sort"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// SharedStandIns is who stands in for whom, as the bus's shared state has it; see
// [Options.Shared]. Its board runs it.
type SharedStandIns struct {
	r     *source
	cache *state.Cache

	mu   sync.RWMutex
	held map[state.Key]ask.StandIn
}

func newStandIns(r *source) *SharedStandIns {
	s := &SharedStandIns{r: r, held: map[state.Key]ask.StandIn{}}
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
	sort.Slice(all, func(i, j int) bool { return all[i].Since.Before(all[j].Since) })
	return all
}

// Set is [responder.Responder.Away].
func (s *SharedStandIns) Set(ctx context.Context, a responder.Away) (ask.StandIn, error) {
	return s.r.Away(ctx, a)
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
