package exchange_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/pkg/ask"
)

// TestAnAddressCountsWhenItIsVerified: who may write any address into their profile asks for nobody else, so that they
// cannot approve what their agent asks, and matches no rule for an address.
func TestAnAddressCountsWhenItIsVerified(t *testing.T) {
	t.Parallel()
	rules, err := exchange.ParseRules([]byte(`
issuers: [{ name: company, issuer: "https://id.example.com", audience: askbus }]
rules:
  - { issuer: company, match: { email: mei@corp.example.com }, tenant: corp, sessions: ["s1"] }
  - { issuer: company, match: { role: agent }, tenant: acme, sessions: ["s1"], asker: ["oidc:id.example.com#{email}"] }
`), ".", "")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	decide := func(email string, verified any) (exchange.Grant, error) {
		return rules.Decide(exchange.Proof{
			Provider: "company", Subject: "mei", Expires: now.Add(time.Hour), Claims: map[string]any{"role": "agent", "email": email, "email_verified": verified},
		}, "s1", now)
	}
	for _, verified := range []any{true, "true"} {
		if g, err := decide("mei@example.com", verified); err != nil || !slices.Equal(g.May.Asker, []string{"oidc:id.example.com#mei@example.com"}) {
			t.Errorf("%v: %+v, %v", verified, g, err)
		}
	}
	for _, verified := range []any{false, "false", nil, 1.0} {
		for _, email := range []string{"nobody@example.com", "mei@corp.example.com"} {
			if g, err := decide(email, verified); !errors.Is(err, ask.ErrForbidden) || !strings.Contains(err.Error(), "email_verified") {
				t.Errorf("%s, %v: %+v, %v", email, verified, g, err)
			}
		}
	}
}
