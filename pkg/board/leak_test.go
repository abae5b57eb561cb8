package board_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// TestTwoThousandUsesLeaveNothing is not parallel, and neither are its
// subtests: they count goroutines and subscriptions of the process.
func TestTwoThousandUsesLeaveNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{Memory: true})
	c := agent(t, b, "acme", "s1")
	r, err := responder.New(b.Responder("chat"), "chat", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	br := run(t, r, board.Options{})
	ask1(t, c, "attended")
	natstest.Eventually(t, "the ask is there", func() bool { return br.Status().Pending == 1 })
	for _, v := range []struct {
		name string
		use  func(i int) error
	}{
		{"Attend", func(i int) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // it declares presence, and that the person has left
			return br.Attend(ctx, board.Viewer{By: ask.By{Principal: fmt.Sprint("os:p", i)}}, key("attended"), i%2 == 0)
		}},
		{"Changes", func(int) error {
			changed, stop := br.Changes(board.Filter{})
			defer stop()
			select {
			case <-changed:
			default:
			}
			return nil
		}},
		{"Follow", func(int) error {
			_, touched, stop := br.Follow(board.Filter{})
			defer stop()
			touched()
			return nil
		}},
	} {
		t.Run(v.name, func(t *testing.T) { b.LeavesNothing(t, v.use) })
	}
}
