package push

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// What is remembered of who looks.
const (
	maxLooked  = 10_000 // asks
	maxLookers = 64     // people of each
	looksFor   = 25 * time.Second
)

// looked notes who was at an ask: a page that shows it, a notification that was dismissed, a chat. What another replica
// heard before this one started is not known: then people are told once too often.
func (a *App) looked(k ask.Key, at board.Attention) {
	a.mu.Lock()
	defer a.mu.Unlock()
	people, _ := a.looks.Get(k)
	if people = maps.Clone(people); people == nil {
		people = map[string]time.Time{}
	}
	seen := time.Now()
	if at.Gone { // they saw it, and are not at it
		seen = seen.Add(-looksFor)
	}
	if len(people) < maxLookers {
		people[at.Principal] = seen
	}
	a.looks.Add(k, people)
}

// RemindAfter is how long a notification may stay unseen.
func (a *App) RemindAfter() time.Duration { return a.opts.Unseen }

// Remind has those told in a chat whose devices were notified and did not show them the ask, unless somebody is at it.
func (a *App) Remind(ctx context.Context, p responder.Post, places []ask.Place) error {
	a.mu.Lock()
	looked, _ := a.looks.Peek(p.Ask.Key())
	a.mu.Unlock()
	now := time.Now()
	for _, at := range looked {
		if now.Sub(at) < looksFor {
			return nil
		}
	}
	var unseen []string
	for _, e := range a.subscribers(p) {
		_, saw := looked[e.Principal]
		rung := slices.ContainsFunc(places, func(at ask.Place) bool { return at.Ref == e.key.Name })
		if rung && !saw && !slices.Contains(unseen, e.Principal) {
			unseen = append(unseen, e.Principal)
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	return a.r.Unseen(ctx, p.Ask.Key(), p.Life, unseen)
}
