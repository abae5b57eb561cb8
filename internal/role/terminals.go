package role

import (
	"context"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/nats-io/nats.go"
)

// terminalSignIns signs terminals in at a web inbox, which keeps the sign-ins; an issuer makes the
// credentials.
type terminalSignIns struct {
	*auth.Sessions
	nc     *nats.Conn
	tenant string // the inbox serves only this tenant
}

// Credential requests a credential for a signed-in terminal from the issuer.
func (t terminalSignIns) Credential(ctx context.Context, secret, tenant string) ([]byte, error) {
	name, _, err := t.Terminal(ctx, secret)
	if err != nil {
		return nil, err
	}
	return exchange.Vouch(ctx, t.nc, t.tenant, name, tenant)
}
