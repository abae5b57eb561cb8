package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
)

// A NATS server of one's own may have the accounts of an older askbus, which do not have every right of this one.
func TestABrokerThatIsDeniedASubscriptionDoesNotServe(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	br, done := broker.New(b.Connect(rights.Role{Name: rights.RoleOperator}), b.Ledger(), broker.Options{Verifier: b.Verifier()}), make(chan error, 1)
	go func() { done <- br.Run(ctx) }()
	var err error
	natstest.Eventually(t, "the broker has ended, or serves", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return br.Ready()
		}
	})
	if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "askbus auth config") {
		t.Errorf("ready %t, %v", br.Ready(), err)
	}
}
