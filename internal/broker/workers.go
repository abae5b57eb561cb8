package broker

import (
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// workerPool carries out jobs on goroutines that stay for the next one: their stacks
// have grown already, which for a request is a good part of its cost.
//
// A session, or the credential of a surface, has a few jobs under way at a time; its others wait in line. So one
// that asks as fast as it can does not fill the queue of its partition, in
// which quiet sessions would wait behind it.
type workerPool struct {
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
	userShare  = 128              // and of one credential that serves many sessions
	maxLine    = 32 << 20         // bytes in the line of one session; then it is told to come again
	maxWaiting = 64 << 20         // bytes in all lines; then nobody hands over more
	jobBytes   = 1 << 10          // of a job beside its message
)

func newWorkerPool(most int) *workerPool {
	p := &workerPool{jobs: make(chan func()), slots: make(chan struct{}, most), done: make(chan struct{}), lines: map[ask.Key]*line{}}
	p.shorter.L = &p.mu
	return p
}

// do hands over a job of a session (the zero key: of nobody's), whose message
// has size bytes. It blocks while all workers are busy. It is not ok when the
// session's line is full.
func (p *workerPool) do(session ask.Key, size int, job func()) (ok bool) {
	p.running.Add(1) // before wait can find nobody at work
	if session == (ask.Key{}) {
		p.hand(job)
		return true
	}
	begins, ok := p.enter(session, size+jobBytes, job)
	switch {
	case !ok:
		p.running.Done()
	case begins:
		p.hand(func() { p.serve(session, job) })
	}
	return ok
}

func (p *workerPool) hand(job func()) {
	select {
	case p.jobs <- job: // somebody waits for one
		return
	default:
	}
	select {
	case p.jobs <- job:
	case p.slots <- struct{}{}:
		go p.work(job)
	}
}

// shareOf is how many jobs of a line may be under way.
func shareOf(line ask.Key) int {
	if line.Tenant == "" {
		return userShare
	}
	return share
}

// enter reports whether the job may begin; otherwise it waits in line, if there
// is room.
func (p *workerPool) enter(session ask.Key, size int, job func()) (begins, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[session]
	if l == nil {
		l = &line{}
		p.lines[session] = l
	}
	if l.running < shareOf(session) {
		l.running++
		return true, true
	}
	if l.size+size > maxLine {
		return false, false
	}
	l.waiting = append(l.waiting, waitingJob{job, size})
	l.size += size
	for p.waiting += size; p.waiting > maxWaiting; {
		p.shorter.Wait()
	}
	return false, true
}

// serve carries out a job, and those of its session that wait by then.
func (p *workerPool) serve(session ask.Key, job func()) {
	for job != nil {
		job()
		next := p.leave(session)
		if next != nil {
			p.running.Done()
		}
		job = next
	}
}

// leave gives the next job of a session, or nil.
func (p *workerPool) leave(session ask.Key) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[session]
	if len(l.waiting) == 0 {
		if l.running--; l.running == 0 {
			delete(p.lines, session)
		}
		return nil
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.size -= next.size
	p.waiting -= next.size
	p.shorter.Broadcast()
	return next.job
}

func (p *workerPool) work(job func()) {
	defer func() { <-p.slots }()
	t := time.NewTimer(idle)
	defer t.Stop()
	for {
		job()
		p.running.Done()
		t.Reset(idle)
		select {
		case job = <-p.jobs:
		case <-t.C:
			return
		case <-p.done:
			return
		}
	}
}

// stop waits until every job is done and ends the workers. No job may
// be handed over after it.
func (p *workerPool) stop() {
	p.running.Wait()
	close(p.done)
}
