package torture

import (
	"errors"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/client"
)

// Given is a bus that somebody else runs.
type Given struct {
	URL       string
	Key       natsd.Key          // derives a credential for each party, or …
	Everybody *client.Credential // … this one serves all: an operator's
	Admin     *client.Credential // may read the ledger; nil: nobody may
}

// Credential implements [Bus].
func (g *Given) Credential(r natsd.Role) (client.Credential, error) {
	if g.Everybody != nil {
		c := *g.Everybody
		c.URL = g.URL
		return c, nil
	}
	if len(g.Key) == 0 {
		return client.Credential{}, errors.New("torture: neither a credential nor a key is given")
	}
	c, err := g.Key.Credential(g.URL, r)
	return client.Credential{URL: c.URL, User: c.User, Password: c.Password, InboxPrefix: c.InboxPrefix}, err
}

// Ledger implements [Bus].
func (g *Given) Ledger() (client.Credential, bool) {
	if g.Admin == nil {
		return client.Credential{}, false
	}
	c := *g.Admin
	c.URL = g.URL
	return c, true
}

// Victims implements [Bus]: there are none.
func (g *Given) Victims() []Victim { return nil }

// Close implements [Bus].
func (g *Given) Close() error { return nil }
