package main

import (
	"context"

	"github.com/askbus/askbus/internal/auth"
	"github.com/askbus/askbus/internal/exchange"
	"github.com/nats-io/nats.go"
)

// terminalSignIns are the terminals that a web inbox signs in: the sign-ins are
// its own, the credentials an issuer's.
type terminalSignIns struct {
	*auth.Sessions
	nc     *nats.Conn
	tenant string // to which the inbox is narrowed
}

// Credential has the issuer make a credential for a terminal that is signed in.
func (t terminalSignIns) Credential(ctx context.Context, secret, tenant string) ([]byte, error) {
	name, _, err := t.Terminal(ctx, secret)
	if err != nil {
		return nil, err
	}
	return exchange.Vouch(ctx, t.nc, t.tenant, name, tenant)
}
