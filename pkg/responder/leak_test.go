package responder_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// nowhere is a presenter whose foreign service accepts everything and shows
// nothing.
type nowhere struct{}

func (nowhere) Present(context.Context, responder.Post) ([]ask.Place, error) {
	return []ask.Place{{Where: "nowhere"}}, nil
}
func (nowhere) Update(context.Context, responder.Ended) error             { return nil }
func (nowhere) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// TestTwoThousandUsesLeaveNothing is not parallel, and neither are its
// subtests: they count goroutines and subscriptions of the process.
func TestTwoThousandUsesLeaveNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{Memory: true})
	c := agent(t, b, "acme", "s1")
	r, err := responder.New(b.Responder("chat"), "chat", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	br := board(t, r, responder.BoardOptions{})
	ask1(t, c, "attended")
	natstest.Eventually(t, "the ask is there", func() bool { return br.Status().Pending == 1 })
	for _, v := range []struct {
		name string
		use  func(i int) error
	}{
		{"Attend", func(i int) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // it declares presence, and that the person has left
			return br.Attend(ctx, responder.Viewer{By: ask.By{Principal: fmt.Sprint("os:p", i)}}, key("attended"), i%2 == 0)
		}},
		{"Changes", func(int) error {
			changed, stop := br.Changes(responder.Filter{})
			defer stop()
			select {
			case <-changed:
			default:
			}
			return nil
		}},
		{"Follow", func(int) error {
			_, touched, stop := br.Follow(responder.Filter{})
			defer stop()
			touched()
			return nil
		}},
	} {
		t.Run(v.name, func(t *testing.T) { b.LeavesNothing(t, v.use) })
	}
	// Stopping waits for a reply in flight, so here one use is one item.
	opts := responder.WorkOptions{Concurrency: 32, Grace: time.Second}
	for name, run := range map[string]func(context.Context) error{
		"Work": func(ctx context.Context) error {
			return r.Work(ctx, func(context.Context, responder.Item) error { return nil }, opts)
		},
		"Serve": func(ctx context.Context) error {
			return r.Serve(ctx, nowhere{}, responder.ServeOptions{Every: time.Nanosecond, Burst: 1 << 20, WorkOptions: opts})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- run(ctx) }()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			b.LeavesNothing(t, func(i int) error {
				id := fmt.Sprint(name, i)
				if _, err := c.Ask(t.Context(), question(id)); err != nil {
					return err
				}
				_, err := c.Withdraw(t.Context(), id, "")
				return err
			})
		})
	}
}
