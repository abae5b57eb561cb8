package responder

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
)

// Clock is the clock of a [Server]. Tests replace it.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the error of ctx if it ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

// wallClock is the real time.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error { return backoff.Sleep(ctx, d) }

// WallClock returns the real time.
func WallClock() Clock { return wallClock{} }

// Pace is how often calls may be made: Every apart, and Burst of them at once after a pause.
type Pace struct {
	Every time.Duration
	Burst int
}

// Rank orders the calls that wait for one queue: urgent ones first, such as the update of a post that
// was just clicked, then those of the newest ask, then in the order of their arrival.
type Rank struct {
	Urgent bool
	At     time.Time // of the ask
}

// before reports whether a call goes before another that came earlier.
func (r Rank) before(o Rank) bool {
	if r.Urgent != o.Urgent {
		return r.Urgent
	}
	return r.At.After(o.At)
}

// Limiter spaces out calls of a foreign service. It has a queue for each class of calls, such as posts
// and edits, and place, such as a channel. It is safe for concurrent use.
type Limiter struct {
	clock Clock
	pace  func(class string) Pace

	mu       sync.Mutex
	queues   map[queueName]*queue
	paused   time.Time // the whole service refuses until then
	replicas int       // that share each pace
}

type queueName struct{ class, place string }

// queue limits the calls of one class to one place.
type queue struct {
	Pace
	free    time.Time // when the next call may start, without a burst
	until   time.Time // paused until then
	busy    bool      // with a call of Alone
	waiting []*waiter // in the order of their turns
}

// waiter is a caller that waits for its turn.
type waiter struct {
	Rank
	wake chan struct{} // holds a signal when it may be first
	rise func()        // ends its sleep; nil: it does not sleep
}

// maxQueues bounds the remembered queues of all classes. Beyond it idle ones are forgotten, and the
// calls of a class to still more places share one queue.
const maxQueues = 2000

// overflow is the place of that queue.
const overflow = "\x00"

// NewLimiter makes a limiter. Pace returns the pace of a class of calls to one place; without a clock
// it uses the real time.
func NewLimiter(clock Clock, pace func(class string) Pace) *Limiter {
	return &Limiter{clock: cmp.Or[Clock](clock, wallClock{}), pace: pace, queues: map[queueName]*queue{}, replicas: 1}
}

// SetReplicas says how many processes share each pace from now on: of each, this
// limiter takes that part. Callers that wait get their turns by the new one.
func (l *Limiter) SetReplicas(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, now := l.replicas, l.clock.Now()
	l.replicas = max(n, 1)
	for _, q := range l.queues {
		if q.free.After(now) { // the calls that it counts take up more or less of the pace
			q.free = now.Add(q.free.Sub(now) / time.Duration(was) * time.Duration(l.replicas))
		}
		if len(q.waiting) > 0 && q.waiting[0].rise != nil {
			q.waiting[0].rise()
		}
	}
}

// Replicas returns how many processes share each pace.
func (l *Limiter) Replicas() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replicas
}

// share returns the part of a pace that is this limiter's. The caller holds mu.
func (l *Limiter) share(p Pace) Pace {
	return Pace{Every: p.Every * time.Duration(l.replicas), Burst: max(p.Burst/l.replicas, 1)}
}

// Wait returns when a call of a class to a place may start, or with the error of ctx.
func (l *Limiter) Wait(ctx context.Context, class, place string, r Rank) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait(ctx, l.queue(class, place), r)
}

// Alone calls f when it is its turn and no other call of Alone of that class to that place is in progress: a service
// that says in each reply what is left of a limit is asked one by one.
func (l *Limiter) Alone(ctx context.Context, class, place string, r Rank, f func(context.Context) error) error {
	l.mu.Lock()
	q := l.queue(class, place)
	err := l.wait(ctx, q, r)
	if err == nil {
		q.busy = true
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		q.busy = false
		if len(q.waiting) > 0 {
			q.waiting[0].signal()
		}
	}()
	return f(ctx)
}

// wait waits for the turn in a queue. The caller holds mu.
func (l *Limiter) wait(ctx context.Context, q *queue, r Rank) error {
	w := &waiter{Rank: r, wake: make(chan struct{}, 1)}
	at := slices.IndexFunc(q.waiting, func(o *waiter) bool { return r.before(o.Rank) })
	if at < 0 {
		at = len(q.waiting)
	}
	q.waiting = slices.Insert(q.waiting, at, w)
	defer func() {
		q.waiting = slices.DeleteFunc(q.waiting, func(o *waiter) bool { return o == w })
		if len(q.waiting) > 0 {
			q.waiting[0].signal()
		}
	}()
	for {
		now, pace := l.clock.Now(), l.share(q.Pace)
		due := later(q.free.Add(-time.Duration(pace.Burst-1)*pace.Every), later(q.until, l.paused))
		first := q.waiting[0] == w && !q.busy
		if first && !now.Before(due) {
			q.free = later(q.free, now).Add(pace.Every)
			return ctx.Err()
		}
		sleep, rise := context.WithCancel(ctx)
		if first {
			w.rise = rise
		}
		l.mu.Unlock()
		var err error
		if first {
			err = l.clock.Sleep(sleep, due.Sub(now))
		} else {
			select {
			case <-w.wake:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		l.mu.Lock()
		risen := sleep.Err() != nil && ctx.Err() == nil // another pace applies
		w.rise = nil
		rise()
		if err != nil && !risen {
			return err
		}
		if q.waiting[0] != w { // a more urgent one came in between
			q.waiting[0].signal()
		}
	}
}

// Pause stops the calls of a class to a place for d, as a Retry-After demands. Without both it stops
// all calls.
func (l *Limiter) Pause(class, place string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.clock.Now().Add(d)
	if class == "" && place == "" {
		l.paused = later(l.paused, until)
		return
	}
	q := l.queue(class, place)
	q.until = later(q.until, until)
}

// Waiting returns the number of calls that wait.
func (l *Limiter) Waiting() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.queues {
		n += len(q.waiting)
	}
	return n
}

// queue returns the queue of a class and a place. The caller holds mu.
func (l *Limiter) queue(class, place string) *queue {
	name := queueName{class, place}
	if q := l.queues[name]; q != nil {
		return q
	}
	if len(l.queues) >= maxQueues {
		l.tidy()
	}
	if len(l.queues) >= maxQueues && place != overflow {
		return l.queue(class, overflow)
	}
	q := &queue{Pace: l.pace(class)}
	q.Burst = max(q.Burst, 1)
	l.queues[name] = q
	return q
}

// tidy forgets the queues that are as good as new.
func (l *Limiter) tidy() {
	now := l.clock.Now()
	for name, q := range l.queues {
		if len(q.waiting) == 0 && !q.busy && q.free.Before(now) && !q.until.After(now) {
			delete(l.queues, name)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
