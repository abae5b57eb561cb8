package feishu_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// A long connection that breaks again and again leaves nothing behind.
func TestReconnectingLeavesNothing(t *testing.T) { // not parallel: it counts goroutines
	f := home(t)
	o := options(f)
	clock := new(respondertest.Clock)
	o.Clock = clock
	f.SetNow(clock.Now)
	app, err := feishu.New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Listen(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	connected := func(ctx context.Context, more int) error {
		if !f.Await(ctx, func() bool { return f.Calls("POST endpoint") >= more && f.Connections() == 1 }) {
			return errors.New("it does not connect again")
		}
		return nil
	}
	var one sync.Mutex
	natstest.Start(t, natstest.Options{NoBroker: true}).LeavesNothing(t, func(int) error {
		one.Lock()
		defer one.Unlock()
		ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
		defer cancel()
		if err := connected(ctx, 1); err != nil {
			return err
		}
		before := f.Calls("POST endpoint")
		f.Disconnect()
		return connected(ctx, before+1)
	})
}

// A long connection that is lost, and of which nobody is told, is replaced when no frame has come for two pings.
func TestALostConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	f := home(t)
	o := options(f)
	o.Clock, o.Ping = new(respondertest.Clock), time.Second
	app, err := feishu.New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Listen(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	natstest.Eventually(t, "it is connected", func() bool { return app.Ready() == nil })
	before := f.Calls("POST endpoint")
	f.Lose()
	natstest.Eventually(t, "it connects again", func() bool { return f.Calls("POST endpoint") > before && f.Connections() == 1 && app.Ready() == nil })
}
