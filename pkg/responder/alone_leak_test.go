package responder_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/responder"
)

// Whoever was alone leaves nothing behind.
func TestBeingAloneLeavesNothing(t *testing.T) { // not parallel: it counts goroutines and subscriptions
	b := natstest.Start(t, natstest.Options{Memory: true})
	r, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "chat"}), "chat", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	b.LeavesNothing(t, func(i int) error { // the markers of more accounts than a few hundred fill the bucket for an hour
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		turns := 0
		r.Alone(ctx, strconv.Itoa(i%500), func(context.Context) { turns++; cancel() })
		if turns != 1 {
			return errors.New("it was alone " + strconv.Itoa(turns) + " times")
		}
		return nil
	})
}
