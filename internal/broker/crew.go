package broker

import (
	"sync"
	"time"
)

// crew carries out jobs on goroutines that stay for the next one: their stacks
// have grown already, which for a request is a good part of its cost.
type crew struct {
	jobs    chan func()
	slots   chan struct{} // one a worker
	done    chan struct{} // closed by stop
	running sync.WaitGroup
}

// idle is how long a worker waits for its next job.
const idle = 10 * time.Second

func newCrew(most int) *crew {
	return &crew{jobs: make(chan func()), slots: make(chan struct{}, most), done: make(chan struct{})}
}

// do hands a job over; it blocks while all workers are busy.
func (c *crew) do(job func()) {
	c.running.Add(1) // before wait can find nobody at work
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
