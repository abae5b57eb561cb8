package chat

import (
	"context"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// NewCache makes a cache of the most recently used values. It panics without room for any.
func NewCache[K comparable, V any](most int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // most is a constant of the caller
	}
	return c
}

// Limits of [People].
const (
	maxPeople  = 10_000
	maxGroups  = 1_000
	personLife = time.Hour
	groupLife  = 5 * time.Minute
)

// People caches a chat's users, as its type P, and its groups. What cannot be looked up grants
// nothing. It is safe for concurrent use.
type People[P any] struct {
	now     func() time.Time
	look    func(ctx context.Context, id string) (P, error)
	members func(ctx context.Context, group string) ([]string, error)
	users   *lru.Cache[string, looked[P]]
	groups  *lru.Cache[string, looked[[]string]]
}

// looked is a value and when it was looked up.
type looked[V any] struct {
	value V
	at    time.Time
}

// NewPeople makes a cache of what the two functions look up.
func NewPeople[P any](now func() time.Time, look func(ctx context.Context, id string) (P, error), members func(ctx context.Context, group string) ([]string, error)) *People[P] {
	return &People[P]{now: now, look: look, members: members, users: NewCache[string, looked[P]](maxPeople), groups: NewCache[string, looked[[]string]](maxGroups)}
}

// Cached returns what is known of a user, however old.
func (p *People[P]) Cached(id string) (known P) {
	one, _ := p.users.Peek(id)
	return one.value
}

// Person looks up a user. With an error it returns what is known.
func (p *People[P]) Person(ctx context.Context, id string) (P, error) {
	known, ok := p.users.Get(id)
	if ok && p.now().Sub(known.at) < personLife {
		return known.value, nil
	}
	one, err := p.look(ctx, id)
	if err != nil {
		return known.value, err
	}
	p.users.Add(id, looked[P]{one, p.now()})
	return one, nil
}

// In reports whether a user is in a group; false with an error.
func (p *People[P]) In(ctx context.Context, group, user string) (bool, error) {
	known, ok := p.groups.Get(group)
	if ok && p.now().Sub(known.at) < groupLife {
		return slices.Contains(known.value, user), nil
	}
	users, err := p.members(ctx, group)
	if err != nil {
		return false, err
	}
	p.groups.Add(group, looked[[]string]{users, p.now()})
	return slices.Contains(users, user), nil
}
