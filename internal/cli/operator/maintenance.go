package operator

import (
	"context"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/storecheck"
)

// maintained reports to the audit what a command did to a ledger: through the list of the store in --dir,
// or as the operator of another server. An error is only a warning: it is done.
func maintained(ctx context.Context, a *cli.App, own bool, done storecheck.Maintenance) {
	if own {
		unrecorded(a, storecheck.NoteMaintenance(a.Dir, done))
		return
	}
	action := audit.LedgerChanged
	if done.Saved {
		action = audit.LedgerSaved
	}
	reportToAudit(ctx, a, audit.Report{Action: action, Object: &audit.Object{Kind: "ledger", Note: done.Note}})
}
