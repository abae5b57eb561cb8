package responder_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// wall is a service that posts in any case.
type wall struct {
	mu    sync.Mutex
	posts map[string]int // by ask
}

func (w *wall) Present(_ context.Context, p responder.Post) ([]ask.Place, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts[p.Ask.ID]++
	return []ask.Place{{Ref: p.Key}}, nil
}

func (w *wall) Update(context.Context, responder.Ended) error { return nil }

func (w *wall) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

func (w *wall) posted() (asks, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.posts {
		most = max(most, n)
	}
	return len(w.posts), most
}

// Replicas stop with asks in hand that wait for their turn, again and again, while others are asked:
// whatever a stopped one gives back is posted, and not only when its lease of an hour is over.
func TestStopsStrandNoAsk(t *testing.T) {
	t.Parallel()
	const stops, each = 6, 8
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: time.Hour}})
	c := agent(t, b, "acme", "s1")
	w := &wall{posts: map[string]int{}}
	start := func(opts responder.ServeOptions) (s *responder.Server, stop func()) {
		r, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "chat"}), "chat", responder.Options{Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		if s, err = responder.NewServer(r, w, opts); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		return s, func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	for i := range stops {
		for j := range each {
			ask1(t, c, fmt.Sprintf("a%d-%d", i, j))
		}
		s, stop := start(responder.ServeOptions{Every: time.Hour, Burst: 1})
		natstest.Eventually(t, "a replica has all it may take in hand", func() bool {
			asks, _ := w.posted()
			return asks > i && s.Health().UnderWay >= each-1
		})
		var asking sync.WaitGroup
		asking.Go(func() {
			for j := range each {
				if _, err := c.Ask(t.Context(), question(fmt.Sprintf("b%d-%d", i, j))); err != nil {
					t.Error(err)
				}
			}
		})
		stop()
		asking.Wait()
	}
	_, stop := start(responder.ServeOptions{Every: time.Millisecond})
	defer stop()
	natstest.Eventually(t, "all asks are posted", func() bool { asks, _ := w.posted(); return asks == 2*stops*each })
	if _, most := w.posted(); most != 1 {
		t.Errorf("an ask was posted %d times", most)
	}
}
