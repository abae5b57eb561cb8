package ledger

import (
	"context"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// fresh caches the questions that this process stored recently, so that a quick
// answer need not read them back. They are used only for writes whose
// compare-and-set detects that the ask has ended since. They are forgotten
// before the same id could be asked again, because its outcome lives longer.
type fresh struct {
	life time.Duration

	mu      sync.Mutex
	stored  map[ask.Key]freshQuestion
	storing map[ask.Key]chan struct{} // closed when the write has ended
}

type freshQuestion struct {
	lifecycle.State
	at time.Time
}

const (
	maxFresh      = 1024
	maxFreshBytes = 16 << 10 // of one question; larger ones are read back
	maxFreshLife  = 10 * time.Minute
)

func newFresh(retention time.Duration) *fresh {
	return &fresh{life: min(retention, maxFreshLife), stored: map[ask.Key]freshQuestion{}, storing: map[ask.Key]chan struct{}{}}
}

// begin marks a question as being stored until the returned function is called.
// A screen may answer what the stream republished before this process gets the
// acknowledgement.
func (f *fresh) begin(k ask.Key) (end func()) {
	ended := make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.storing[k] = ended
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.storing[k] == ended { // not replaced by another write of the same id
			delete(f.storing, k)
		}
		close(ended)
	}
}

// put remembers a question that was just stored.
func (f *fresh) put(k ask.Key, s lifecycle.State, bytes int) {
	if bytes > maxFreshBytes {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for old, q := range f.stored { // a few at a time, in any order
		if len(f.stored) < maxFresh && time.Since(q.at) < f.life {
			break
		}
		delete(f.stored, old)
	}
	f.stored[k] = freshQuestion{s, time.Now()}
}

// get returns a question that was stored recently. It waits for one that is
// being stored.
func (f *fresh) get(ctx context.Context, k ask.Key) (lifecycle.State, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ended := f.storing[k]; ended != nil {
		f.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		f.mu.Lock()
	}
	q, ok := f.stored[k]
	return q.State, ok && time.Since(q.at) < f.life
}

// drop forgets a question that has, or may have, ended.
func (f *fresh) drop(k ask.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.stored, k)
}

// ForgetStored forgets which questions this process stored recently: another one may
// be about to delete those of a tenant.
func (l *Ledger) ForgetStored() {
	l.fresh.mu.Lock()
	defer l.fresh.mu.Unlock()
	clear(l.fresh.stored)
}
