package board

import (
	"context"
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// SharedLinks is which members of chats are which people, as the bus's shared state has
// it. It needs the credential of a web inbox of one tenant or of all.
type SharedLinks struct {
	r     *source
	cache *state.Cache

	mu   sync.RWMutex
	held map[string]map[state.Key]ask.Link // by account
}

// NewSharedLinks makes the store of a web inbox. It sends nothing; Run follows.
func NewSharedLinks(of *responder.Responder) *SharedLinks {
	r := newSource(of)
	s := &SharedLinks{r: r, held: map[string]map[state.Key]ask.Link{}}
	s.cache = r.cache(state.Links, s.follow)
	return s
}

// Run follows what any inbox writes, until ctx ends.
func (s *SharedLinks) Run(ctx context.Context) error { return s.cache.Run(ctx) }

// Of returns the members of chats that a person linked, the earliest first.
func (s *SharedLinks) Of(by ask.By) []ask.Link {
	s.mu.RLock()
	all := slices.Collect(maps.Values(s.held[by.Principal]))
	s.mu.RUnlock()
	sort.Slice(all, func(i, j int) bool { return all[i].Since.Before(all[j].Since) })
	return all
}

// Claimed is [responder.Responder.Claimed].
func (s *SharedLinks) Claimed(ctx context.Context, by ask.By, code string) (ask.Link, error) {
	return s.r.Claimed(ctx, by, code)
}

// Link is [responder.Responder.Link].
func (s *SharedLinks) Link(ctx context.Context, by ask.By, code string) (ask.Link, error) {
	return s.r.Link(ctx, by, code)
}

// Unlink is [responder.Responder.Unlink].
func (s *SharedLinks) Unlink(ctx context.Context, by ask.By, principal string) error {
	return s.r.Unlink(ctx, by, principal)
}

// follow applies what any broker wrote.
func (s *SharedLinks) follow(old, now *state.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old != nil {
		if one, err := state.LinkOf(old); err == nil {
			delete(s.held[one.Account], old.Key)
			if len(s.held[one.Account]) == 0 {
				delete(s.held, one.Account)
			}
		}
	}
	if now == nil {
		return
	}
	if one, err := state.LinkOf(now); err == nil {
		if s.held[one.Account] == nil {
			s.held[one.Account] = map[state.Key]ask.Link{}
		}
		s.held[one.Account][now.Key] = one
	}
}
