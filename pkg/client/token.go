package client

import (
	"context"

	"github.com/askbus/askbus/internal/bus/connection"
)

// ForToken returns a context for asks and answers that a gateway sends on behalf
// of an API token, so that the audit names the token, and a vote ends with it. The id is read when a request is
// sent; an empty one names none. Brokers ignore it from other credentials.
func ForToken(ctx context.Context, id func() string) context.Context {
	return connection.ForToken(ctx, id)
}
