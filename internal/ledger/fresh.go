package ledger

import (
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// fresh are the questions that this process stored a short while ago: an answer
// that comes soon need not read back what we have just written. What they say
// is only ever used for a write whose compare-and-set sees whether the ask has
// ended since. They are forgotten before the same id could have been asked again:
// its outcome lives longer than they do.
type fresh struct {
	life time.Duration

	mu     sync.Mutex
	stored map[ask.Key]freshQuestion
}

type freshQuestion struct {
	lifecycle.State
	at time.Time
}

const (
	maxFresh      = 1024
	maxFreshBytes = 16 << 10 // of one question; larger ones are read
	maxFreshLife  = 10 * time.Minute
)

func newFresh(retention time.Duration) *fresh {
	return &fresh{life: min(retention, maxFreshLife), stored: map[ask.Key]freshQuestion{}}
}

// put remembers a question that was stored just now.
func (f *fresh) put(k ask.Key, s lifecycle.State, bytes int) {
	if bytes > maxFreshBytes {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for old, q := range f.stored { // a few at a time, in no order
		if len(f.stored) < maxFresh && time.Since(q.at) < f.life {
			break
		}
		delete(f.stored, old)
	}
	f.stored[k] = freshQuestion{s, time.Now()}
}

// get gives a question that was stored a short while ago.
func (f *fresh) get(k ask.Key) (lifecycle.State, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q, ok := f.stored[k]
	return q.State, ok && time.Since(q.at) < f.life
}

// drop forgets a question: it has ended, or somebody says so.
func (f *fresh) drop(k ask.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.stored, k)
}
