package web

import (
	"context"
	"sync"
)

// How many files this inbox reads or sends at a time, each of which is in memory
// meanwhile, and how many of these are one person's: others always find a place.
const (
	maxFiles      = 16
	filesOfPerson = 4
)

// places are for what is in memory at a time. It is safe for concurrent use.
type places struct {
	all    chan struct{}
	person int

	mu sync.Mutex
	of map[string]*share // by principal
}

// share is the places of one person.
type share struct {
	taken chan struct{}
	users int // who have or wait for one
}

func newPlaces(all, person int) *places {
	return &places{all: make(chan struct{}, all), person: person, of: map[string]*share{}}
}

// take waits for a place of a person, which is theirs until leave is called. Who waits
// for their own takes none from others.
func (p *places) take(ctx context.Context, principal string) (leave func(), err error) {
	p.mu.Lock()
	own := p.of[principal]
	if own == nil {
		own = &share{taken: make(chan struct{}, p.person)}
		p.of[principal] = own
	}
	own.users++
	p.mu.Unlock()
	taken := 0
	leave = func() {
		for _, from := range []chan struct{}{own.taken, p.all}[:taken] {
			<-from
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(p.of, principal)
		}
	}
	for _, place := range []chan struct{}{own.taken, p.all} {
		select {
		case place <- struct{}{}:
			taken++
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}
	return leave, nil
}
