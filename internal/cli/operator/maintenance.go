package operator

import (
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/storecheck"
)

// noteMaintenance adds what a command did to the store in --dir to its list for
// the audit. An error is only a warning: it is done.
func noteMaintenance(a *cli.App, done storecheck.Maintenance) {
	if err := storecheck.NoteMaintenance(a.Dir, done); err != nil {
		a.Note("askbus: warning: the audit has no record of this: %v", err)
	}
}
