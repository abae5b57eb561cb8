package responder_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// A replica that is cut off from the bus, but not from the service to which it
// posts, gives up an item before another replica has it.
func TestAReplicaThatIsCutOffGivesItsWorkUp(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: 3 * time.Second}})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	work := func(r *responder.Responder, handle func(context.Context) error) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- r.Work(ctx, func(ctx context.Context, _ responder.Item) error { return handle(ctx) }, responder.WorkOptions{Grace: time.Second})
		}()
		t.Cleanup(func() { cancel(); <-done })
	}
	line := b.Line()
	cut, err := responder.New(line.Connect(rights.Role{Name: rights.RoleResponder, Type: "chat"}), "chat", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "chat"}), "chat", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	got, events := make(chan struct{}, 1), make(chan error, 16) // events in their order, also when both are there at once
	work(cut, func(ctx context.Context) error {
		got <- struct{}{}
		<-ctx.Done()
		events <- context.Cause(ctx)
		return ctx.Err()
	})
	ask1(t, c.Session("acme", "s1"), "a1")
	<-got
	line.Block()
	work(whole, func(context.Context) error { events <- nil; return nil })
	if err := <-events; err == nil {
		t.Error("two replicas have the item")
	} else if !errors.Is(err, responder.ErrLeaseLost) {
		t.Errorf("given up for %v", err)
	}
	<-events
}

// channel is a service whose reply to the first post is lost.
type channel struct {
	mu    sync.Mutex
	posts []string
	done  chan struct{}
}

func (c *channel) Present(_ context.Context, p responder.Post) ([]ask.Place, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posts = append(c.posts, p.Key)
	if len(c.posts) == 1 {
		return nil, context.DeadlineExceeded
	}
	return []ask.Place{{Ref: p.Key}}, nil
}

func (c *channel) Update(context.Context, responder.Ended) error { close(c.done); return nil }

func (c *channel) Find(_ context.Context, p responder.Post) ([]ask.Place, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.posts, p.Key) {
		return nil, nil
	}
	return []ask.Place{{Ref: p.Key}}, nil
}

// A post that timed out is searched for before it is repeated: the service may
// have it.
func TestAPostWhoseReplyIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "chat"}), "chat", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	posts, served := &channel{done: make(chan struct{})}, make(chan error, 1)
	go func() { served <- r.Serve(ctx, posts, responder.ServeOptions{Every: time.Nanosecond}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	ask1(t, c.Session("acme", "s1"), "a1")
	natstest.Eventually(t, "it is posted", func() bool {
		rec, err := r.Get(ctx, ask.Key{Tenant: "acme", Session: "s1", ID: "a1"})
		return err == nil && len(rec.Receipts) == 1 && rec.Receipts[0].State == ask.ReceiptPosted
	})
	if _, err := c.Session("acme", "s1").Withdraw(ctx, "a1", "done"); err != nil {
		t.Fatal(err)
	}
	<-posts.done
	if len(posts.posts) != 1 {
		t.Errorf("posted %d times", len(posts.posts))
	}
}
