package responder_test

import (
	"context"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/pkg/responder"
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
