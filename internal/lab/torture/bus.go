package torture

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
)

// Bus is the bus under test.
type Bus interface {
	// Credential returns a credential of a role. It may change after a fault.
	Credential(r rights.Role) (client.Credential, error)
	// Ledger returns a credential that reads the ledger, if there is one.
	Ledger() (c client.Credential, ok bool)
	// Victims returns the processes that can be killed or stopped. There may be none.
	Victims() []Victim
	// Close stops everything that the bus started.
	Close() error
}

// Victim is a process, or an equivalent in this process.
type Victim interface {
	Name() string
	// Kill kills it, like SIGKILL, and restarts it.
	Kill(ctx context.Context) error
	// Stop pauses it for a while, like SIGSTOP and SIGCONT. It reports whether it can be paused.
	Stop(ctx context.Context, d time.Duration) (bool, error)
}

// Settings of ledgers for torture: short, so that outcomes expire and ids are reused during a run.
const (
	DefaultRetention = 10 * time.Second
	DefaultMargin    = 5 * time.Second
)
