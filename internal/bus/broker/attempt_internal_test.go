package broker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/nats-io/nats.go"
)

// A request that was queued for longer than its sender waits is not carried
// out: the broker neither serves it nor replies.
func TestARequestWhoseSenderGaveUpIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &Broker{}
		m := &nats.Msg{Header: nats.Header{connection.HeaderAttempt: {"2s"}}}
		r := request{attempt: attemptOf(m.Header)}
		if r.over() {
			t.Fatal("the attempt is over at once")
		}
		time.Sleep(2 * time.Second)
		b.do(nil, &r, func(context.Context) error { t.Error("it is served"); return nil })
		if b.late.Load() != 1 {
			t.Error("the late request was not counted")
		}
		for _, h := range []nats.Header{nil, {connection.HeaderAttempt: {"soon"}}, {connection.HeaderAttempt: {"-1s"}}, {connection.HeaderAttempt: nil}} {
			a := attemptOf(h)
			if time.Sleep(time.Hour); a.over() {
				t.Errorf("%v has a limit", h)
			}
		}
	})
}
