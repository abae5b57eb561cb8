package operator

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
)

// unrecorded warns that the audit has no record of what a command did, if there is an error: it is done.
func unrecorded(a *cli.App, err error) {
	if err != nil {
		a.Note("askbus: warning: the audit has no record of this: %v", err)
	}
}

// commandReports bounds how long a command tries to report to the audit.
const commandReports = 3 * time.Second

// reportToAudit reports to the audit what a command did. An error is only a
// warning: it is done.
func reportToAudit(ctx context.Context, a *cli.App, p audit.Report) {
	err := func() error {
		b, err := operator(a, "report to the audit")
		if err != nil {
			return err
		}
		defer b.Close()
		ctx, cancel := context.WithTimeout(ctx, commandReports)
		defer cancel()
		return audit.Send(ctx, b.NC, audit.Operator(), p)
	}()
	unrecorded(a, err)
}
