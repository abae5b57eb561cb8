package operator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/rights"
)

// readyWait is how long the note of the ledger waits for a server; the Job of the chart may run for ten minutes.
const readyWait = 8 * time.Minute

// cluster is what noting the ledger needs of the API server: [kube.Secrets].
type cluster interface {
	Write(ctx context.Context, name string, labels map[string]string, data map[string][]byte) error
	Ready(ctx context.Context, set string) (bool, error)
}

// ledgerNote notes in a deployment's keys which servers have its ledger, for [rights.CheckLedgerNote].
type ledgerNote struct {
	api    cluster
	secret string   // of the keys
	held   string   // what is noted so far
	set    string   // StatefulSet of the servers
	leave  []string // claims whose ledger may be left behind
}

// clear removes the note of a ledger that may be left behind, before the servers that replace its own start.
func (n *ledgerNote) clear(ctx context.Context) error {
	if n.held == "" || !slices.Contains(n.leave, "data-"+n.held+"-0") {
		return nil
	}
	n.held = ""
	return n.api.Write(ctx, n.secret, nil, map[string][]byte{rights.LedgerNote: nil})
}

// write waits until a server is ready, so that there is a ledger, and notes it. A server that does not get ready is not
// an error: the next run notes it.
func (n *ledgerNote) write(ctx context.Context, a *cli.App) error {
	if n.held == n.set {
		return nil
	}
	if n.held != "" {
		a.Note("askbus: the keys say that the ledger is that of %s, so %s will not serve an empty one; persistence.leave={data-%s-0} allows it", n.held, n.set, n.held)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for try := 0; ; try++ {
		ready, err := n.api.Ready(ctx, n.set)
		if ready {
			return n.api.Write(ctx, n.secret, nil, map[string][]byte{rights.LedgerNote: []byte(n.set)})
		}
		if backoff.Wait(ctx, time.Second, min(try, 3)) != nil {
			a.Note("askbus: %s is not ready yet (%v), so the next run notes that it has the ledger", n.set, err)
			return nil
		}
	}
}

// newLedgerNote returns the note of a deployment's keys.
func newLedgerNote(api cluster, secret string, keys map[string][]byte, set string, leave []string) *ledgerNote {
	return &ledgerNote{api, secret, strings.TrimSpace(string(keys[rights.LedgerNote])), set, leave}
}
