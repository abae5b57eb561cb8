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
	size    int // bytes, of those
}

type waitingJob struct {
	job  func()
	size int
}

const (
	idle       = 10 * time.Second // how long a worker waits for its next job
	share      = 16               // jobs of one session at a time
	maxLine    = 32 << 20         // bytes in the line of one session; then it is told to come again
	maxWaiting = 64 << 20         // bytes in all lines; then nobody hands over more
	jobBytes   = 1 << 10          // of a job beside its message
)

func newCrew(most int) *crew {
	c := &crew{jobs: make(chan func()), slots: make(chan struct{}, most), done: make(chan struct{}), lines: map[ask.Key]*line{}}
	c.shorter.L = &c.mu
	return c
}

// do hands over a job of a session (the zero key: of nobody's), whose message
// has size bytes. It blocks while all workers are busy. It is not ok when the
// session's line is full.
func (c *crew) do(session ask.Key, size int, job func()) (ok bool) {
	c.running.Add(1) // before wait can find nobody at work
	if session == (ask.Key{}) {
		c.hand(job)
		return true
	}
	begins, ok := c.enter(session, size+jobBytes, job)
	switch {
	case !ok:
		c.running.Done()
	case begins:
		c.hand(func() { c.serve(session, job) })
	}
	return ok
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

// enter reports whether the job may begin; otherwise it waits in line, if there
// is room.
func (c *crew) enter(session ask.Key, size int, job func()) (begins, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[session]
	if l == nil {
		l = &line{}
		c.lines[session] = l
	}
	if l.running < share {
		l.running++
		return true, true
	}
	if l.size+size > maxLine {
		return false, false
	}
	l.waiting = append(l.waiting, waitingJob{job, size})
	l.size += size
	for c.waiting += size; c.waiting > maxWaiting; {
		c.shorter.Wait()
	}
	return false, true
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
	l.size -= next.size
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
