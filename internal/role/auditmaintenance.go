package role

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/nats.go"
)

// maintenanceAudit reports to the audit what was done to a stopped store. It
// stores its progress. A report that is sent twice within two minutes is one record.
type maintenanceAudit struct {
	dir  string
	send func(context.Context, audit.Report) error
	log  *slog.Logger
}

func newMaintenanceAudit(dir string, nc *nats.Conn, log *slog.Logger) *maintenanceAudit {
	return &maintenanceAudit{dir, audit.Over(nc, audit.Issuer()), log}
}

// Run reports new entries of the list until ctx ends.
func (m *maintenanceAudit) Run(ctx context.Context) error {
	return reportEvery(ctx, m.log, "maintenance", m.check)
}

func (m *maintenanceAudit) path() string {
	return filepath.Join(m.dir, "auth", "maintained.audited")
}

// check reports the entries of the list that are not reported yet.
func (m *maintenanceAudit) check(ctx context.Context) error {
	var at int64
	if data, err := os.ReadFile(m.path()); err == nil {
		_ = json.Unmarshal(data, &at) // damaged: report everything again
	}
	list, next, err := storecheck.Maintained(m.dir, at)
	if err != nil || next == at {
		return err
	}
	for _, done := range list {
		action := audit.LedgerChanged
		switch {
		case done.Repair:
			action = audit.LedgerRepaired
		case done.Saved:
			action = audit.LedgerSaved
		}
		r := audit.Report{
			Action: action, ID: fmt.Sprint("m-", done.At.UnixNano()), Time: done.At,
			Object: &audit.Object{Kind: "ledger", Note: done.Note},
		}
		if err := m.send(ctx, r); err != nil {
			return err
		}
	}
	return os.WriteFile(m.path(), fmt.Append(nil, next, "\n"), 0o600)
}
