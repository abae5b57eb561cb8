package board_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// TestTwoBoardsRaceForEveryAsk: two people at two boards want the same ask at the same moment, 200 times. One of them
// gets it each time, and never both.
func TestTwoBoardsRaceForEveryAsk(t *testing.T) {
	t.Parallel()
	const asks = 200
	b := natstest.Start(t, natstest.Options{Memory: true})
	boards := []*board.Board{run(t, surface(t, b, responder.Options{}), board.Options{}), run(t, surface(t, b, responder.Options{}), board.Options{})}
	people := []board.Viewer{person("mei"), person("tom")}
	c := agent(t, b, "acme", "s1")
	won := map[string]int{}
	for i := range asks {
		k := key(fmt.Sprint("a", i))
		ask1(t, c, k.ID)
		natstest.Eventually(t, "both boards have the ask", func() bool { return boards[0].Status().Pending == 1 && boards[1].Status().Pending == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var winners []string
		var life string
		var both sync.WaitGroup
		start := make(chan struct{})
		for at, br := range boards {
			both.Go(func() {
				changed, stop := br.Changes(board.Filter{})
				defer stop()
				<-start
				for {
					h, ok := br.Take(t.Context(), people[at], board.Filter{}, board.Turn{})
					if ok {
						mu.Lock()
						winners, life = append(winners, people[at].By.Name), h.Life
						mu.Unlock()
						cancel() // the other one has nothing to wait for
						return
					}
					select {
					case <-ctx.Done():
						return
					case <-changed:
					}
				}
			})
		}
		close(start)
		both.Wait()
		cancel()
		if len(winners) != 1 {
			t.Fatalf("ask %d is read by %v", i, winners)
		}
		won[winners[0]]++
		for _, br := range boards {
			br.Learn(ask.Record{State: ask.StateResolved, Life: life, Ask: ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}})
		}
	}
	t.Logf("taken by %v", won)
}

// TestOnePersonIsOfferedTheSameAskTwice: two screens of one person do not compete, and leaving one is not leaving the other.
func TestOnePersonIsOfferedTheSameAskTwice(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	web, phone, other := run(t, surface(t, b, responder.Options{}), board.Options{}), run(t, surface(t, b, responder.Options{}), board.Options{}), run(t, surface(t, b, responder.Options{}), board.Options{})
	ask1(t, agent(t, b, "acme", "s1"), "a1")
	mei := person("mei")
	for _, br := range []*board.Board{web, phone, other} {
		natstest.Eventually(t, "the ask is there", func() bool { return br.Status().Pending == 1 })
	}
	for _, br := range []*board.Board{web, phone} {
		if h, ok := br.Take(t.Context(), mei, board.Filter{}, board.Turn{}); !ok || h.Key.ID != "a1" {
			t.Fatalf("Mei takes %v, %t", h.Key, ok)
		}
	}
	natstest.Eventually(t, "others see her", func() bool { return len(other.Attending(key("a1"))) == 1 && len(web.Attending(key("a1"))) == 1 })
	// In the order of one publisher: when she is seen at a2, the others have heard that she left a1 in the web.
	ask1(t, agent(t, b, "acme", "s1"), "a2")
	natstest.Eventually(t, "the second ask is there", func() bool { return web.Status().Pending == 2 && other.Status().Pending == 2 })
	if err := errors.Join(web.Leave(mei, key("a1")), web.Look(mei, key("a2"), false)); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "others see her at both", func() bool { return len(other.Attending(key("a2"))) == 1 })
	if h, ok := other.Take(t.Context(), person("tom"), board.Filter{}, board.Turn{}); ok {
		t.Errorf("Tom takes %v, which Mei reads on her phone", h.Key)
	}
}

// Who is signed out is nowhere at once: nobody waits until they are forgotten.
func TestWhoDepartsIsNowhere(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	web, other := run(t, surface(t, b, responder.Options{}), board.Options{}), run(t, surface(t, b, responder.Options{}), board.Options{})
	c := agent(t, b, "acme", "s1")
	ask1(t, c, "a1")
	ask1(t, c, "a2")
	mei, tom := person("mei"), person("tom")
	for _, br := range []*board.Board{web, other} {
		natstest.Eventually(t, "the asks are there", func() bool { return br.Status().Pending == 2 })
	}
	if err := errors.Join(web.Look(mei, key("a1"), false), web.Look(mei, key("a2"), true), web.Look(tom, key("a2"), false)); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "others see them", func() bool { return len(other.Attending(key("a1"))) == 1 && len(other.Attending(key("a2"))) == 2 })
	if err := web.Depart(mei); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "others see Tom alone", func() bool {
		at := other.Attending(key("a2"))
		return len(other.Attending(key("a1"))) == 0 && len(at) == 1 && at[0].Principal == tom.By.Principal
	})
}

// Without an echo a viewer is not kept waiting: what nobody else is known to read is theirs.
func TestALostEchoDelaysAReader(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	c := agent(t, b, "acme", "s1")
	ask1(t, c, "a1")
	ctx, cancel := context.WithCancel(t.Context())
	br := board.New(surface(t, b, responder.Options{}), board.Options{})
	br.SetEchoLimit(time.Millisecond)
	var at sync.WaitGroup
	at.Go(func() { _ = br.Run(ctx) })
	natstest.Eventually(t, "the ask is there", func() bool { return br.Status().Pending == 1 })
	cancel()
	at.Wait() // it has the ask, and hears nothing any more
	if h, ok := br.Take(t.Context(), person("mei"), board.Filter{}, board.Turn{}); !ok || h.Key.ID != "a1" {
		t.Errorf("Mei takes %v, %t", h.Key, ok)
	}
	if h, ok := br.Take(t.Context(), person("tom"), board.Filter{}, board.Turn{}); ok {
		t.Errorf("Tom takes %v, which Mei reads", h.Key)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if h, ok := br.Take(over, person("mei"), board.Filter{}, board.Turn{}); ok {
		t.Errorf("somebody who is gone takes %v", h.Key)
	}
	if n := len(br.Attending(key("a1"))); n != 0 {
		t.Errorf("%d people are at the ask", n)
	}
}
