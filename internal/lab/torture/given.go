package torture

import (
	"errors"
	"sync/atomic"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
)

// Given is a bus that is already running.
type Given struct {
	URL    string
	Far    string             // where every second party connects, such as a leaf node; empty: all at URL
	Issuer *rights.Issuer     // issues a credential per party, because no single one may be all
	Admin  *client.Credential // may read the ledger; nil: skip that check

	// Trust adds TLS verification to a credential; default: none.
	Trust func(client.Credential) client.Credential

	turn atomic.Uint32
}

// Credential implements [Bus].
func (g *Given) Credential(r rights.Role) (client.Credential, error) {
	if g.Issuer == nil {
		return client.Credential{}, errors.New("torture: no directory with keys is given")
	}
	at := g.URL
	if g.Far != "" && g.turn.Add(1)%2 == 0 {
		at = g.Far
	}
	c, err := g.Issuer.Asserting(at, r, assertion.Anything())
	return g.trusting(client.Credential(c)), err
}

func (g *Given) trusting(c client.Credential) client.Credential {
	if g.Trust == nil {
		return c
	}
	return g.Trust(c)
}

// Ledger implements [Bus].
func (g *Given) Ledger() (client.Credential, bool) {
	if g.Admin == nil {
		return client.Credential{}, false
	}
	c := *g.Admin
	c.URL = g.URL
	return g.trusting(c), true
}

// Victims implements [Bus]: there are none.
func (g *Given) Victims() []Victim { return nil }

// Close implements [Bus].
func (g *Given) Close() error { return nil }
