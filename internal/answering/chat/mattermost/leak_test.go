package mattermost_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// A WebSocket that breaks again and again leaves nothing behind.
func TestReconnectingLeavesNothing(t *testing.T) { // not parallel: it counts goroutines
	w := newWorld(t)
	o := w.options()
	o.Clock = new(respondertest.Clock)
	app, err := mattermost.New(w.Responder(mattermost.Type), o)
	if err != nil {
		t.Fatal(err)
	}
	w.Run(func(ctx context.Context) error {
		err := app.Keep(ctx)
		app.Drain()
		return err
	})
	natstest.Eventually(t, "it hears", func() bool { return w.fake.Listeners() == 1 })
	var one sync.Mutex
	w.Bus.LeavesNothing(t, func(int) error {
		one.Lock()
		defer one.Unlock()
		before := w.fake.Heard()
		w.fake.Drop()
		for end := time.Now().Add(waittest.Limit); w.fake.Heard() == before || w.fake.Listeners() != 1; {
			if time.Now().After(end) {
				return errors.New("it does not connect again")
			}
			<-time.After(time.Millisecond)
		}
		return nil
	})
}
