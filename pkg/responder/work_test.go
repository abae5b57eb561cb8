package responder_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// A replica that is stopped without a broker has nothing in progress, and does
// not use up its grace.
func TestWorkStopsSoonWithoutABroker(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(broker.Options{})
	r := surface(t, b, responder.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- r.Work(ctx, func(context.Context, responder.Item) error { return nil },
			responder.WorkOptions{Grace: time.Hour, Ready: func() { close(ready) }})
	}()
	<-ready
	stop()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A replica that is stopped asks for nothing more: it would wait for work that it
// does not take.
func TestWorkThatIsStoppedAsksForNothingMore(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	admin := b.Admin()
	asked := make(chan *nats.Msg, 100)
	if _, err := admin.ChanSubscribe("ansv1.*.*.next", asked); err != nil {
		t.Fatal(err)
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
	nothing, err := wire.EncodeNext(nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r := surface(t, b, responder.Options{})
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- r.Work(ctx, func(context.Context, responder.Item) error { return nil }, responder.WorkOptions{})
		}()
		var held []*nats.Msg
		for len(held) < 2 { // for questions and outcomes
			m := <-asked
			q, err := wire.DecodeNext(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if q.Wait > 0 {
				held = append(held, m)
			} else if err := m.Respond(nothing); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		for _, m := range held {
			if err := m.Respond(nothing); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(<-done, admin.Flush()); err != nil {
			t.Fatal(err)
		}
		if n := len(asked); n > 0 {
			t.Fatalf("%d requests followed", n)
		}
	}
}
