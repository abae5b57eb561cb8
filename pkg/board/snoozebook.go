package board

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// snooze is an ask that a person put off.
type snooze = wire.StoredSnooze

// snoozeBook holds snoozes by person, named as in the bus's shared state, and knows when the next one ends. The zero
// value is ready to use.
type snoozeBook struct {
	mu      sync.Mutex
	byWho   map[string]map[ask.Key]snooze
	stirred chan struct{} // holds a signal when a snooze was added
}

// signal returns the channel that signals new snoozes. The caller holds mu.
func (b *snoozeBook) signal() chan struct{} {
	if b.stirred == nil {
		b.stirred = make(chan struct{}, 1)
	}
	return b.stirred
}

// checkQuota refuses a snooze beyond the bounds.
func (b *snoozeBook) checkQuota(who string, k ask.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.byWho[who]
	if _, has := of[k]; !has && len(of) >= maxSnoozes {
		drop(of)
		if len(of) >= maxSnoozes {
			return ask.Refusal(ask.CodeQuota, ask.FaultManyOfYours, len(of))
		}
	}
	if of == nil && len(b.byWho) >= maxSnoozers {
		b.tidy()
		if len(b.byWho) >= maxSnoozers {
			return ask.Refusal(ask.CodeQuota, ask.FaultBucketFull, "snoozes", maxSnoozers)
		}
	}
	return nil
}

func (b *snoozeBook) set(who string, s snooze) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byWho == nil {
		b.byWho = map[string]map[ask.Key]snooze{}
	}
	if b.byWho[who] == nil {
		b.byWho[who] = map[ask.Key]snooze{}
	}
	b.byWho[who][s.Key] = s
	select {
	case b.signal() <- struct{}{}:
	default:
	}
}

func (b *snoozeBook) remove(who string, k ask.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.byWho[who], k); len(b.byWho[who]) == 0 {
		delete(b.byWho, who)
	}
}

// of returns the current snoozes of a person.
func (b *snoozeBook) of(who string) []snooze {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var all []snooze
	for _, s := range b.byWho[who] {
		if now.Before(s.Until) {
			all = append(all, s)
		}
	}
	return all
}

// run calls over with each ask whose snooze has ended, until ctx ends.
func (b *snoozeBook) run(ctx context.Context, over func(ask.Key)) {
	b.mu.Lock()
	stirred := b.signal()
	b.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-stirred:
		case <-timer.C:
		}
		due, next := b.due(time.Now())
		for _, k := range due {
			over(k)
		}
		timer.Reset(next)
	}
}

// due removes the snoozes that have ended, and returns when to look again.
func (b *snoozeBook) due(now time.Time) (due []ask.Key, next time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next = time.Hour
	for who, of := range b.byWho {
		for k, s := range of {
			left := s.Until.Sub(now)
			if left > 0 {
				next = min(next, left)
				continue
			}
			due = append(due, k)
			delete(of, k)
		}
		if len(of) == 0 {
			delete(b.byWho, who)
		}
	}
	return due, next
}

// drop removes snoozes that have ended.
func drop(of map[ask.Key]snooze) {
	now := time.Now()
	maps.DeleteFunc(of, func(_ ask.Key, s snooze) bool { return !now.Before(s.Until) })
}

func (b *snoozeBook) tidy() {
	for who, of := range b.byWho {
		if drop(of); len(of) == 0 {
			delete(b.byWho, who)
		}
	}
}
