package operator

import (
	"context"
	"encoding/json"
	"os"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
)

// backupCreds are the credentials of a backup: one reads the ledger, the other says so in the audit. They are of two
// accounts, because nothing crosses from the ledger's to the one of requests.
type backupCreds struct {
	Ledger client.Credential `json:"backup"`
	Report client.Credential `json:"report"`
}

func makeBackupCreds(give func(rights.Role) (client.Credential, error)) (c backupCreds, err error) {
	if c.Ledger, err = give(rights.Role{Name: rights.RoleBackup}); err != nil {
		return c, err
	}
	c.Report, err = give(rights.Role{Name: rights.RoleSaved})
	return c, err
}

// loadBackupCreds reads --creds; given is false if they are not those of a backup.
func loadBackupCreds(a *cli.App) (c backupCreds, given bool, err error) {
	if a.Creds == "" {
		return c, false, nil
	}
	data, err := os.ReadFile(a.Creds)
	if err != nil {
		return c, false, cli.Usage("--creds: %w", err)
	}
	_ = json.Unmarshal(data, &c) // else it is an operator's, who reports a backup that another credential makes
	if c.Ledger.Creds == "" || c.Report.Creds == "" {
		return c, false, nil
	}
	if a.NATS.URL != "" {
		c.Ledger.URL, c.Report.URL = a.NATS.URL, a.NATS.URL
	}
	return c, true, nil
}

// report reports a backup to the audit. An error is only a warning: it is made.
func (c *backupCreds) report(ctx context.Context, a *cli.App, s ledger.Summary) {
	ctx, cancel := context.WithTimeout(ctx, commandReports)
	defer cancel()
	nc, err := a.Connect(c.Report)
	if err == nil {
		defer nc.Close()
		err = audit.Send(ctx, nc, audit.Saved(), savedReport(s))
	}
	unrecorded(a, err)
}
