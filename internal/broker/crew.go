package broker

import (
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// crew carries out jobs on goroutines that stay for the next one: their stacks
// have grown already, which for a request is a good part of its cost.
//
// A session has a few jobs under way at a time; its others wait in line. So one
// that asks as fast as it can does not fill the queue of its partition, in
// which quiet sessions would wait behind it.
type crew struct {
	jobs    chan func()
	slots   chan struct{} // one a worker
	done    chan struct{} // closed by stop
	running sync.WaitGroup

	mu      sync.Mutex
	lines   map[ask.Key]*line // by session: those with a job under way
	waiting int               // bytes, of all lines
	shorter sync.Cond         // waiting is less
}

// line is one session's jobs.
type line struct {
	running int
	waiting []waitingJob
}

type waitingJob struct {
	job  func()
	size int
}

const (
	idle       = 10 * time.Second // how long a worker waits for its next job
	share      = 16               // jobs of one session at a time
	maxWaiting = 64 << 20         // bytes in line; then nobody hands over more
)

func newCrew(most int) *crew {
	c := &crew{jobs: make(chan func()), slots: make(chan struct{}, most), done: make(chan struct{}), lines: map[ask.Key]*line{}}
	c.shorter.L = &c.mu
	return c
}

// do hands over a job of a session (the zero key: of nobody's), which holds size
// bytes. It blocks while all workers are busy.
func (c *crew) do(session ask.Key, size int, job func()) {
	c.running.Add(1) // before wait can find nobody at work
	if session == (ask.Key{}) {
		c.hand(job)
		return
	}
	if c.enter(session, size, job) {
		c.hand(func() { c.serve(session, job) })
	}
}

func (c *crew) hand(job func()) {
	select {
	case c.jobs <- job: // somebody waits for one
		return
	default:
	}
	select {
	case c.jobs <- job:
	case c.slots <- struct{}{}:
		go c.work(job)
	}
}

// enter reports whether the job may begin; otherwise it waits in line.
func (c *crew) enter(session ask.Key, size int, job func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[session]
	if l == nil {
		l = &line{}
		c.lines[session] = l
	}
	if l.running < share {
		l.running++
		return true
	}
	l.waiting = append(l.waiting, waitingJob{job, size})
	for c.waiting += size; c.waiting > maxWaiting; {
		c.shorter.Wait()
	}
	return false
}

// serve carries out a job, and those of its session that wait by then.
func (c *crew) serve(session ask.Key, job func()) {
	for job != nil {
		job()
		next := c.leave(session)
		if next != nil {
			c.running.Done()
		}
		job = next
	}
}

// leave gives the next job of a session, or nil.
func (c *crew) leave(session ask.Key) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[session]
	if len(l.waiting) == 0 {
		if l.running--; l.running == 0 {
			delete(c.lines, session)
		}
		return nil
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	c.waiting -= next.size
	c.shorter.Broadcast()
	return next.job
}

func (c *crew) work(job func()) {
	defer func() { <-c.slots }()
	t := time.NewTimer(idle)
	defer t.Stop()
	for {
		job()
		c.running.Done()
		t.Reset(idle)
		select {
		case job = <-c.jobs:
		case <-t.C:
			return
		case <-c.done:
			return
		}
	}
}

// stop waits until every job is done and sends the workers home. Nobody may
// hand over a job after it.
func (c *crew) stop() {
	c.running.Wait()
	close(c.done)
}
