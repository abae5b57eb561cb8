package broker

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/askbus/askbus/pkg/ask"
)

// A session that hands over more than its share waits in line, and nobody else
// with it; every job is done once, in turn.
func TestANoisySessionWaitsInLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newWorkerPool(64)
		noisy, quiet := ask.Key{Tenant: "acme", Session: "noisy"}, ask.Key{Tenant: "acme", Session: "quiet"}
		hold := make(chan struct{})
		var mu sync.Mutex
		var order []int
		for i := range 3 * share {
			c.do(noisy, 1, func() {
				<-hold
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			})
		}
		done := 0
		for range share { // of others, and of nobody's
			c.do(quiet, 1, func() { mu.Lock(); done++; mu.Unlock() })
			c.do(ask.Key{}, 1, func() { mu.Lock(); done++; mu.Unlock() })
		}
		synctest.Wait()
		if done != 2*share || len(order) != 0 || c.waiting != 2*share*(1+jobBytes) {
			t.Fatalf("%d jobs of others are done, %d of the noisy session; %d wait", done, len(order), c.waiting)
		}
		for range share { // one round: as many of those in line begin
			hold <- struct{}{}
		}
		synctest.Wait()
		if len(order) != share || c.waiting != share*(1+jobBytes) {
			t.Fatalf("%d are done, %d wait", len(order), c.waiting)
		}
		close(hold)
		c.stop()
		seen := map[int]bool{}
		for _, i := range order {
			seen[i] = true
		}
		if len(seen) != 3*share || len(order) != 3*share || len(c.lines) != 0 || c.waiting != 0 {
			t.Errorf("%d of %d jobs are done, %d lines and %d bytes are left", len(order), 3*share, len(c.lines), c.waiting)
		}
	})
}

// A line holds so many bytes, also of jobs that carry none; then its session is
// told so, and nobody else waits. All lines hold so many; then everybody does.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newWorkerPool(256)
		hold := make(chan struct{})
		fill := func(session string) (took int) {
			for c.do(ask.Key{Tenant: "acme", Session: session}, 0, func() { <-hold }) {
				took++
			}
			return took
		}
		if n := fill("s1"); n != share+maxLine/jobBytes {
			t.Errorf("a line took %d jobs", n)
		}
		if n := fill("s2"); n != share+maxLine/jobBytes {
			t.Errorf("another took %d jobs", n)
		}
		if c.waiting != maxWaiting {
			t.Errorf("%d bytes wait", c.waiting)
		}
		handed := 0
		go func() {
			for range share + 2 {
				c.do(ask.Key{Tenant: "acme", Session: "s3"}, 0, func() { <-hold })
				handed++
			}
		}()
		synctest.Wait()
		if handed != share {
			t.Errorf("%d jobs were handed over beside full lines", handed)
		}
		close(hold)
		synctest.Wait()
		if handed != share+2 {
			t.Errorf("%d jobs were handed over in the end", handed)
		}
		c.stop()
		if len(c.lines) != 0 || c.waiting != 0 {
			t.Errorf("%d lines and %d bytes are left", len(c.lines), c.waiting)
		}
	})
}
