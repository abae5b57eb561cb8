package operator

import (
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/storecheck"
)

// noteMaintenance adds what a command did to the store in --dir to its list for
// the audit. An error is only a warning: it is done.
func noteMaintenance(a *cli.App, done storecheck.Maintenance) {
	unrecorded(a, storecheck.NoteMaintenance(a.Dir, done))
}
