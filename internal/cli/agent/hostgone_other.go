//go:build !unix

package agent

import (
	"context"
	"os"
)

// withHost does not watch the host here.
func withHost(ctx context.Context, _ *os.File, _ error) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// whenKilled does nothing here.
func whenKilled([]string) (ended func(), err error) { return func() {}, nil }
