package broker

import (
	"errors"
	"fmt"
	"strings"
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
		for range share { // of another session, and of a surface
			c.do(quiet, 1, func() { mu.Lock(); done++; mu.Unlock() })
			c.do(ask.Key{ID: "UWEB"}, 1, func() { mu.Lock(); done++; mu.Unlock() })
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
		if c.do(noisy, 1, func() { t.Error("a job began after stop") }) {
			t.Error("jobs are taken after stop")
		}
		if err := c.busy("of nobody"); !errors.Is(err, ask.ErrUnavailable) || !strings.Contains(err.Error(), "is stopping") {
			t.Error(err)
		}
		seen := map[int]bool{}
		for _, i := range order {
			seen[i] = true
		}
		if len(seen) != 3*share || len(order) != 3*share || len(c.lines) != 0 || c.waiting != 0 {
			t.Errorf("%d of %d jobs are done, %d lines and %d bytes are left", len(order), 3*share, len(c.lines), c.waiting)
		}
	})
}

// A line holds so many bytes, also of jobs that carry none, and so do all lines
// of a tenant; then its session is told so, and nobody else waits. All lines
// hold so many; then everybody does.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newWorkerPool(512)
		hold := make(chan struct{})
		fill := func(tenant, session string) (took int) {
			for c.do(ask.Key{Tenant: tenant, Session: session}, 0, func() { <-hold }) {
				took++
			}
			if err := c.busy("of s"); !strings.Contains(err.Error(), "too many requests of s are waiting") {
				t.Error(err)
			}
			return took
		}
		const line, lines = maxLine / jobBytes, maxLines / maxLine
		for _, tenant := range []string{"t1", "t2"} {
			for i := range lines {
				if n := fill(tenant, fmt.Sprint("s", i)); n != share+line {
					t.Errorf("a line took %d jobs", n)
				}
			}
			if n := fill(tenant, "more"); n != share {
				t.Errorf("a line of a tenant whose lines are full took %d jobs", n)
			}
		}
		for i := range 2 {
			if n := fill("t3", fmt.Sprint("s", i)); n != share+line {
				t.Errorf("a line of another tenant took %d jobs", n)
			}
		}
		if c.waiting != maxWaiting {
			t.Errorf("%d bytes wait", c.waiting)
		}
		handed := 0
		go func() {
			for range share + 2 {
				c.do(ask.Key{Tenant: "t4", Session: "s"}, 0, func() { <-hold })
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
		if len(c.lines) != 0 || len(c.tenants) != 0 || c.waiting != 0 {
			t.Errorf("%d lines, %d tenants and %d bytes are left", len(c.lines), len(c.tenants), c.waiting)
		}
	})
}

// However many sessions a tenant has, half of the workers are left for others,
// and its own sessions take turns.
func TestSessionsOfATenantTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers, sessions, jobs = 64, 16, 2 * share
		c := newWorkerPool(workers)
		hold := make(chan struct{})
		var mu sync.Mutex
		var order []int
		for range jobs {
			for s := range sessions {
				c.do(ask.Key{Tenant: "loud", Session: fmt.Sprint(s)}, 0, func() {
					<-hold
					mu.Lock()
					defer mu.Unlock()
					order = append(order, s)
				})
			}
		}
		quiet := 0
		for i := range workers / 2 {
			c.do(ask.Key{Tenant: "quiet", Session: fmt.Sprint(i)}, 0, func() { mu.Lock(); quiet++; mu.Unlock() })
		}
		synctest.Wait()
		if quiet != workers/2 || len(order) != 0 {
			t.Errorf("%d jobs of another tenant are done, %d of the loud one", quiet, len(order))
		}
		for range sessions * jobs / 2 {
			hold <- struct{}{}
		}
		synctest.Wait()
		done := map[int]int{}
		for _, s := range order {
			done[s]++
		}
		for s := range sessions {
			if n := done[s]; n < jobs/2-2 || n > jobs/2+2 {
				t.Errorf("session %d had %d of its %d jobs done at half time", s, n, jobs)
			}
		}
		close(hold)
		c.stop()
		if len(order) != sessions*jobs || len(c.lines) != 0 || len(c.tenants) != 0 || c.waiting != 0 {
			t.Errorf("%d of %d jobs are done; %d lines, %d tenants and %d bytes are left", len(order), sessions*jobs, len(c.lines), len(c.tenants), c.waiting)
		}
	})
}
