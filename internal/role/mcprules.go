package role

import (
	"context"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/exchange"
)

// mcpIssuers returns the OAuth issuers whose access tokens are accepted for MCP at an address, or
// nil without rules.
func (r *Process) mcpIssuers(rules, resource string) (*exchange.Source, error) {
	if rules == "" {
		return nil, nil //nolint:nilnil // only tokens of ours count
	}
	s, err := exchange.Open(rules, tokenReviews(exchange.SourceOptions{Audience: resource, Logger: r.Log}))
	if err != nil {
		return nil, cli.Usage("--mcp-rules: %w", err)
	}
	return s, nil
}

// foreignToken converts an issuer's access token into an agent's token, for the sessions of the
// matching rule.
func foreignToken(issuers *exchange.Source) func(context.Context, string) (token.Token, error) {
	if issuers == nil {
		return nil
	}
	return func(ctx context.Context, raw string) (token.Token, error) {
		h, err := issuers.Holder(ctx, raw)
		return token.Token{ID: h.ID, Role: token.Agent, Tenant: h.Tenant, Sessions: h.Sessions, Expires: h.Expires, Endpoints: []token.Endpoint{token.MCP}}, err
	}
}
