package board_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// slowScreen is a screen that blocks while it is held. It reads everything
// again only when it has a reason, because its own interval is an hour.
type slowScreen struct {
	*screen
	r    *responder.Responder
	hold sync.Mutex
}

func newSlowScreen(t *testing.T, r *responder.Responder) *slowScreen {
	t.Helper()
	s := &slowScreen{screen: &screen{t: t, events: make(chan board.Event, 10_000)}, r: r}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- board.WatchEvery(ctx, r, time.Hour, func(e board.Event) {
			s.hold.Lock()
			defer s.hold.Unlock()
			s.events <- e
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	s.until("synced")
	return s
}

// flood publishes outcomes of an unknown ask.
func flood(t *testing.T, b *natstest.Bus, n, size int) {
	t.Helper()
	admin := b.Admin()
	data := make([]byte, size)
	for range n {
		if err := admin.Publish("outv1.acme.s1.nobody.o", data); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
}

// While a screen is blocked, more messages arrive than are kept for it. A
// snapshot tells what was dropped: outcomes of asks that it shows, outcomes of
// asks whose question it had not been told yet, and new asks; everything once.
func TestAScreenThatIsSlowMissesNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	nc := b.Responder("web")
	r, err := responder.New(nc, "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	answers := surface(t, b, responder.Options{})
	s := newSlowScreen(t, r)
	ask1(t, c, "shown")
	s.until("pending shown")
	s.hold.Lock()
	for i := range 10 {
		ask1(t, c, fmt.Sprint("queued", i))
	}
	flood(t, b, board.MaxWaiting>>10, 0)
	for _, id := range []string{"shown", "queued0", "queued1", "queued2"} {
		if _, err := answers.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id}, pick()); err != nil {
			t.Fatal(err)
		}
	}
	ask1(t, c, "dropped")
	if err := nc.Flush(); err != nil { // all of it has arrived
		t.Fatal(err)
	}
	s.hold.Unlock()
	waiting := map[string]int{}
	for _, id := range []string{"shown", "queued0", "queued1", "queued2"} {
		waiting["resolved "+id] = 1
	}
	for i := range 10 {
		waiting[fmt.Sprint("pending queued", i)] = 1
	}
	waiting["pending dropped"] = 1
	s.all(waiting)
	// It continues live.
	ask1(t, c, "later")
	s.until("pending later")
	s.once(waiting)
}

// TestAStalledScreenKeepsFewBytes is not parallel: it counts bytes.
func TestAStalledScreenKeepsFewBytes(t *testing.T) {
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	nc := b.Responder("web")
	r, err := responder.New(nc, "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	s := newSlowScreen(t, r)
	ask1(t, c, "shown")
	s.until("pending shown")
	s.hold.Lock()
	ask1(t, c, "queued")
	before := heap()
	for range 10 { // the server cuts off a connection with 64 MiB that it has not sent
		flood(t, b, 32, 1<<20-1024)
		if err := nc.Flush(); err != nil { // all of it has arrived
			t.Fatal(err)
		}
	}
	if _, err := c.Withdraw(t.Context(), "shown", ""); err != nil {
		t.Fatal(err)
	}
	ask1(t, c, "dropped")
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if grown := heap() - before; grown > 5*board.MaxWaiting {
		t.Errorf("320 MiB were sent to a stalled screen, and %d MiB are kept", grown>>20)
	}
	s.hold.Unlock()
	want := map[string]int{"resolved shown": 1, "pending queued": 1, "pending dropped": 1}
	s.all(want)
	ask1(t, c, "later")
	s.until("pending later")
	s.once(want)
}

// heap returns the bytes that live.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one found in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// all reads events until all of these have come.
func (s *screen) all(want map[string]int) {
	s.t.Helper()
	for end := time.Now().Add(waittest.Limit); ; {
		missing := []string{}
		for name, n := range want {
			if s.count(name) < n {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%v never came; seen %v", missing, s.seen)
		}
		s.next()
	}
}

// once checks that nothing was told twice.
func (s *screen) once(want map[string]int) {
	s.t.Helper()
	for name, n := range want {
		if s.count(name) != n {
			s.t.Errorf("%s was told %d times: %v", name, s.count(name), s.seen)
		}
	}
}

// A server disconnects a screen that does not read. After the reconnect it is
// told what it missed.
func TestAScreenThatTheServerCutsOffForBeingSlowIsTold(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	line := b.Line()
	r, err := responder.New(line.Connect(rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	s := newSlowScreen(t, r)
	ask1(t, c, "shown")
	s.until("pending shown")
	resume := line.Stall()
	flood(t, b, 120, 1<<20-1024) // the server keeps 64 of them
	if _, err := c.Withdraw(t.Context(), "shown", ""); err != nil {
		t.Fatal(err)
	}
	ask1(t, c, "missed")
	resume()
	<-line.Back()
	want := map[string]int{"resolved shown": 1, "pending missed": 1}
	s.all(want)
	ask1(t, c, "later")
	s.until("pending later")
	s.once(want)
}

// A screen in a reconnect storm is told everything once.
func TestAScreenInAReconnectStorm(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	line := b.Line()
	r, err := responder.New(line.Connect(rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	s := newSlowScreen(t, r)
	want := map[string]int{}
	for i := range 60 {
		id := fmt.Sprint("a", i)
		ask1(t, c, id)
		want["pending "+id] = 1
		if i%3 == 0 {
			line.Cut()
			<-line.Back()
		}
	}
	s.all(want)
	for i := range 60 {
		id := fmt.Sprint("a", i)
		if _, err := c.Withdraw(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		want["resolved "+id] = 1
		if i%3 == 0 {
			line.Cut()
			<-line.Back()
		}
	}
	s.all(want)
	s.once(want)
}
