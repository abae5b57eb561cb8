package torture

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/client"
)

// Bus is what is tortured.
type Bus interface {
	// Credential says how to connect as a role. It may change after a fault.
	Credential(r natsd.Role) (client.Credential, error)
	// Ledger is a credential that reads the ledger; not ok when there is none.
	Ledger() (c client.Credential, ok bool)
	// Victims can be killed or stopped. There may be none.
	Victims() []Victim
	// Close ends everything that the bus started.
	Close() error
}

// Victim is a process, or what stands for one.
type Victim interface {
	Name() string
	// Kill ends it at once, as SIGKILL does, and starts it again.
	Kill(ctx context.Context) error
	// Stop freezes it for a while, as SIGSTOP and SIGCONT do. It reports
	// whether it can be stopped.
	Stop(ctx context.Context, d time.Duration) (bool, error)
}

// Settings of every ledger that is made to be tortured: short, so that outcomes
// expire and ids are used again during a run.
const (
	DefaultRetention = 10 * time.Second
	DefaultMargin    = 5 * time.Second
)
