package slack

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/backoff"
	"github.com/askbus/askbus/pkg/responder"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error { return backoff.Sleep(ctx, d) }

// limiter delays calls to stay within Slack's limits: it has one queue per method, and for posts
// one per channel. Urgent calls (a card that was just clicked) go first, then the newest. A
// Retry-After pauses its queue.
type limiter struct {
	clock responder.Clock
	share float64 // of Slack's limit, which replicas divide

	mu     sync.Mutex
	queues map[string]*queue
	seq    int // of the last turn
}

// rank orders the waiting calls.
type rank struct {
	Urgent bool
	At     time.Time // of the ask: the newest goes first
}

// queue holds the waiting calls of one method or one channel.
type queue struct {
	waiting turns
	serving bool // a goroutine runs serve
	left    float64
	burst   float64
	rate    float64 // per second
	at      time.Time
	until   time.Time // paused until then
}

type turn struct {
	rank
	seq   int
	ready chan struct{}
	gone  bool
}

type turns []*turn

func (t *turns) Len() int { return len(*t) }
func (t *turns) Less(i, j int) bool {
	a, b := (*t)[i], (*t)[j]
	switch {
	case a.Urgent != b.Urgent:
		return a.Urgent
	case !a.At.Equal(b.At):
		return a.At.After(b.At)
	}
	return a.seq < b.seq
}
func (t *turns) Swap(i, j int) { (*t)[i], (*t)[j] = (*t)[j], (*t)[i] }
func (t *turns) Push(x any)    { *t = append(*t, x.(*turn)) } //nolint:forcetypeassert,errcheck // only turns are pushed
func (t *turns) Pop() any {
	old := *t
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	return last
}

func newLimiter(c responder.Clock, replicas int) *limiter {
	return &limiter{clock: c, share: 1 / float64(max(replicas, 1)), queues: map[string]*queue{}}
}

// maxQueues bounds the number of queues; idle ones are dropped.
const maxQueues = 2000

// wait returns when the call may be made. The caller holds no lock.
func (l *limiter) wait(ctx context.Context, method, channel string, r rank) error {
	for _, name := range queueNames(method, channel) {
		if err := l.turn(ctx, name, r); err != nil {
			return err
		}
	}
	return nil
}

// queueNames returns the queues of a call: posting has one per channel and one for the workspace.
func queueNames(method, channel string) []string {
	if method == "chat.postMessage" {
		return []string{method + " " + channel, method}
	}
	return []string{method}
}

func (l *limiter) turn(ctx context.Context, name string, r rank) error {
	l.mu.Lock()
	q := l.queue(name)
	l.seq++
	t := &turn{rank: r, seq: l.seq, ready: make(chan struct{})}
	heap.Push(&q.waiting, t)
	if !q.serving {
		q.serving = true
		go l.serve(context.WithoutCancel(ctx), q)
	}
	l.mu.Unlock()
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		t.gone = true
		l.mu.Unlock()
		return ctx.Err()
	}
}

// serve hands out turns until the queue is empty.
func (l *limiter) serve(ctx context.Context, q *queue) {
	for {
		l.mu.Lock()
		for len(q.waiting) > 0 && q.waiting[0].gone {
			heap.Pop(&q.waiting)
		}
		if len(q.waiting) == 0 {
			q.serving = false
			l.mu.Unlock()
			return
		}
		now := l.clock.Now()
		q.left = min(q.burst, q.left+now.Sub(q.at).Seconds()*q.rate)
		q.at = now
		wait := q.until.Sub(now)
		if wait <= 0 && q.left >= 1 {
			q.left--
			t, _ := heap.Pop(&q.waiting).(*turn)
			close(t.ready)
			l.mu.Unlock()
			continue
		}
		if wait <= 0 {
			wait = time.Duration((1 - q.left) / q.rate * float64(time.Second))
		}
		l.mu.Unlock()
		// Sleep in short steps, so that an urgent newcomer still goes first and a cancelled call
		// leaves soon.
		if l.clock.Sleep(ctx, min(max(wait, time.Millisecond), time.Second)) != nil {
			return
		}
	}
}

func (l *limiter) queue(name string) *queue {
	q, ok := l.queues[name]
	if !ok {
		if len(l.queues) >= maxQueues {
			for old, idle := range l.queues {
				if !idle.serving {
					delete(l.queues, old)
				}
			}
		}
		perMinute, burst := allowance(name)
		q = &queue{rate: max(perMinute*l.share/60, 0.02), burst: max(burst*l.share, 1), at: l.clock.Now()}
		q.left = q.burst
		l.queues[name] = q
	}
	return q
}

// allowance returns Slack's limit per minute and its burst. It stays a little below them, because
// the doctor and retries share the token.
func allowance(name string) (perMinute, burst float64) {
	switch name {
	case "chat.postMessage":
		return 280, 60
	case "chat.update", "conversations.open", "conversations.info", "conversations.history", "conversations.replies":
		return 48, 20
	case "chat.postEphemeral", "views.open", "views.update", "views.publish", "users.info":
		return 95, 40
	case "usergroups.list", "usergroups.users.list":
		return 19, 10
	case "auth.test":
		return 200, 50
	case "apps.connections.open":
		return 10, 5
	}
	return 58, 3 // a channel: one message per second
}

// refuse pauses the queue of a call that got a Retry-After.
func (l *limiter) refuse(method, channel string, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queue(queueNames(method, channel)[0])
	if until := l.clock.Now().Add(after); until.After(q.until) {
		q.until = until
	}
}

// backlog returns the number of waiting calls.
func (l *limiter) backlog() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, q := range l.queues {
		n += len(q.waiting)
	}
	return n
}
