package broker

import (
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// workerPool carries out jobs on goroutines that it reuses, because growing the
// stack of a new one is a large part of a request's cost.
//
// A session, or the credential of a surface, runs a limited number of jobs at a
// time; its others wait in line. So a session that asks as fast as it can does
// not fill the queue of its partition, which stores one message after the other,
// and delay quiet ones: 256 asks in flight raised their p99 from 50 to 610 ms; with
// 16 at a time it is 105 ms, and the busy session loses a tenth of its rate. The
// session is the one in the subject, whoever sends. A tenant has at most half of
// the workers; then its sessions take turns.
type workerPool struct {
	jobs    chan func()
	slots   chan struct{} // one a worker
	done    chan struct{} // closed by stop
	running sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	lines   map[ask.Key]*line      // by session: those with a job under way, or waiting
	tenants map[string]*tenantJobs // of those
	waiting int                    // bytes, of all lines
	shorter sync.Cond              // waiting is less
}

// line is one session's jobs.
type line struct {
	session ask.Key
	running int
	waiting []waitingJob
	size    int  // bytes, of those
	ready   bool // it is in its tenant's ready
}

// tenantJobs are the jobs of one tenant.
type tenantJobs struct {
	lines   int
	running int
	size    int     // bytes that wait
	ready   []*line // they may begin a job when the tenant may
}

type waitingJob struct {
	job  func()
	size int
}

const (
	idle       = 10 * time.Second // how long a worker waits for its next job
	share      = 16               // jobs of one session at a time
	userShare  = 128              // and of one credential that serves many sessions
	maxLine    = 8 << 20          // bytes in the line of one session; then it is told to come again
	maxLines   = 24 << 20         // and in all lines of a tenant
	maxWaiting = 64 << 20         // bytes in all lines; then nobody hands over more
	jobBytes   = 1 << 10          // of a job beside its message
)

func newWorkerPool(most int) *workerPool {
	p := &workerPool{jobs: make(chan func()), slots: make(chan struct{}, most), done: make(chan struct{}), lines: map[ask.Key]*line{}, tenants: map[string]*tenantJobs{}}
	p.shorter.L = &p.mu
	return p
}

// do carries out a job of a session, whose message has size bytes. It blocks
// while all workers are busy. It returns false if the session's line is full, or
// after stop.
func (p *workerPool) do(session ask.Key, size int, job func()) (ok bool) {
	if !p.start() {
		return false
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

// busy returns the refusal of a job for which do returned false; whose names its
// requests.
func (p *workerPool) busy(whose string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return ask.Refuse(ask.CodeUnavailable, "this broker is stopping; send this request again, and another broker answers it")
	}
	return ask.Refuse(ask.CodeUnavailable, "too many requests %s are waiting; send fewer at a time, and this one again", whose)
}

// start counts a job that stop waits for. It returns false after stop.
func (p *workerPool) start() (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	p.running.Add(1)
	return true
}

func (p *workerPool) hand(job func()) {
	select {
	case p.jobs <- job: // a worker is idle
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

// shareOfTenant is how many jobs of a tenant may be under way. Credentials that
// serve all tenants have no such bound.
func (p *workerPool) shareOfTenant(session ask.Key) int {
	if session.Tenant == "" {
		return cap(p.slots)
	}
	return max(1, cap(p.slots)/2)
}

// enter reports whether the job may begin; otherwise it waits in line, if there
// is room.
func (p *workerPool) enter(session ask.Key, size int, job func()) (begins, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, t := p.lines[session], p.tenants[session.Tenant]
	if t == nil {
		t = &tenantJobs{}
	}
	if l == nil {
		l = &line{session: session}
	}
	mayRun := l.running < shareOf(session)
	begins = mayRun && t.running < p.shareOfTenant(session)
	if !begins && (l.size+size > maxLine || session.Tenant != "" && t.size+size > maxLines) {
		return false, false
	}
	if p.lines[session] == nil {
		p.lines[session], p.tenants[session.Tenant] = l, t
		t.lines++
	}
	if begins {
		l.running++
		t.running++
		return true, true
	}
	l.waiting = append(l.waiting, waitingJob{job, size})
	l.size += size
	t.size += size
	if mayRun {
		t.makeReady(l)
	}
	for p.waiting += size; p.waiting > maxWaiting; {
		p.shorter.Wait()
	}
	return false, true
}

func (t *tenantJobs) makeReady(l *line) {
	if !l.ready {
		l.ready = true
		t.ready = append(t.ready, l)
	}
}

// serve carries out a job, and those that wait for its place by then.
func (p *workerPool) serve(session ask.Key, job func()) {
	for job != nil {
		job()
		var next func()
		session, next = p.leave(session)
		if next != nil {
			p.running.Done()
		}
		job = next
	}
}

// leave gives the next job of a session, or of another one of its tenant whose
// turn it is, or nil.
func (p *workerPool) leave(session ask.Key) (ask.Key, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, t := p.lines[session], p.tenants[session.Tenant]
	l.running--
	t.running--
	if len(l.waiting) > 0 {
		t.makeReady(l)
	} else if l.running == 0 {
		delete(p.lines, session)
		if t.lines--; t.lines == 0 {
			delete(p.tenants, session.Tenant)
		}
	}
	if len(t.ready) == 0 {
		return session, nil
	}
	l, t.ready = t.ready[0], t.ready[1:]
	l.ready = false
	l.running++
	t.running++
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	if len(l.waiting) > 0 && l.running < shareOf(l.session) {
		t.makeReady(l)
	}
	l.size -= next.size
	t.size -= next.size
	p.waiting -= next.size
	p.shorter.Broadcast()
	return l.session, next.job
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

// stop waits until every job is done and ends the workers. No job begins after
// it.
func (p *workerPool) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.running.Wait()
	close(p.done)
}
