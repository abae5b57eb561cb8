package natstest

import (
	"testing"

	"go.uber.org/goleak"
)

// NoGoroutines returns a function that fails the test if more goroutines run
// than now, except the server's and the broker's, which come and go.
func NoGoroutines(t testing.TB) (verify func()) {
	t.Helper()
	ignored := []goleak.Option{goleak.IgnoreCurrent()}
	for _, f := range []string{
		"github.com/nats-io/nats-server/v2/server.(*Server).startGoRoutine.func1",
		"github.com/nats-io/nats-server/v2/server.(*consumer).loopAndGatherMsgs",
		"github.com/nats-io/nats-server/v2/server.(*consumer).processInboundAcks",
		"github.com/nats-io/nats-server/v2/server.(*consumer).processInboundNextMsgReqs",
		"github.com/askbus/askbus/internal/bus/broker.(*Broker).receive.func1", "github.com/askbus/askbus/internal/bus/broker.(*workerPool).work",
	} {
		ignored = append(ignored, goleak.IgnoreAnyFunction(f))
	}
	return func() {
		t.Helper()
		goleak.VerifyNone(t, ignored...)
	}
}
