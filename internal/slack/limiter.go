package slack

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// clock is the time that limits are counted by.
type clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// limiter lets calls through as Slack allows them: one queue for each method,
// and for posts one for each channel. The urgent go first (a card that somebody
// has just clicked), then the newest. A Retry-After stops its queue for so long.
type limiter struct {
	clock clock
	share float64 // of what Slack allows: replicas divide it

	mu     sync.Mutex
	queues map[string]*queue
}

// rank is who goes first.
type rank struct {
	Urgent bool
	At     time.Time // of what the call is about: the newest goes first
}

// queue is those who wait for one method, or one channel.
type queue struct {
	name    string
	waiting turns
	serving bool // a goroutine hands out turns
	left    float64
	burst   float64
	rate    float64 // a second
	at      time.Time
	until   time.Time // refused until then
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

func newLimiter(c clock, replicas int) *limiter {
	return &limiter{clock: c, share: 1 / float64(max(replicas, 1)), queues: map[string]*queue{}}
}

// maxQueues bounds the queues; those where nobody waits are forgotten.
const maxQueues = 2000

// wait returns when it is this call's turn. The caller holds nothing.
func (l *limiter) wait(ctx context.Context, method, channel string, r rank) error {
	for _, name := range queueNames(method, channel) {
		if err := l.turn(ctx, name, r); err != nil {
			return err
		}
	}
	return nil
}

// queueNames are the queues that a call passes: posting has one for each
// channel, and one for the workspace.
func queueNames(method, channel string) []string {
	if method == "chat.postMessage" {
		return []string{method + " " + channel, method}
	}
	return []string{method}
}

func (l *limiter) turn(ctx context.Context, name string, r rank) error {
	l.mu.Lock()
	q := l.queue(name)
	t := &turn{rank: r, seq: len(q.waiting), ready: make(chan struct{})}
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

// serve hands out turns until nobody waits.
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
		// Short steps: who comes meanwhile and is urgent goes first all the same,
		// and who gave up is forgotten soon.
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
		q = &queue{name: name, rate: max(perMinute*l.share/60, 0.02), burst: max(burst*l.share, 1), at: l.clock.Now()}
		q.left = q.burst
		l.queues[name] = q
	}
	return q
}

// allowance is what Slack allows a minute, and how much at once. We stay a
// little below: the same tokens serve doctor and retries.
func allowance(name string) (perMinute, burst float64) {
	switch name {
	case "chat.postMessage":
		return 280, 60
	case "chat.update", "chat.delete", "conversations.open", "conversations.info", "conversations.history", "conversations.replies", "users.lookupByEmail":
		return 48, 20
	case "chat.postEphemeral", "views.open", "views.update", "views.publish", "users.info":
		return 95, 40
	case "usergroups.list", "usergroups.users.list":
		return 19, 10
	case "auth.test", "chat.getPermalink":
		return 200, 50
	case "apps.connections.open":
		return 10, 5
	}
	return 58, 3 // a channel: a message a second
}

// refuse stops the queue that a Retry-After is about.
func (l *limiter) refuse(method, channel string, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queue(queueNames(method, channel)[0])
	if until := l.clock.Now().Add(after); until.After(q.until) {
		q.until = until
	}
}

// backlog is how many calls wait.
func (l *limiter) backlog() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, q := range l.queues {
		n += len(q.waiting)
	}
	return n
}
