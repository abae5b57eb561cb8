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

// A WebSocket that is lost, and of which nobody is told, is replaced as soon as the server does not answer a ping, and one
// whose session has ended as soon as it says so.
func TestALostConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSurface(t)
	o := s.options()
	o.Clock, o.Ping = new(respondertest.Clock), time.Second
	app, err := mattermost.New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Keep(ctx); app.Drain() }()
	t.Cleanup(func() { cancel(); <-done })
	natstest.Eventually(t, "it hears", func() bool { return s.fake.Listeners() == 1 })
	for _, lose := range []func(){s.fake.Lose, s.fake.EndSessions} {
		before := s.fake.Heard()
		lose()
		natstest.Eventually(t, "it connects again", func() bool { return s.fake.Heard() > before && s.fake.Listeners() == 1 })
	}
}
