package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/askbus/askbus/internal/audit"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/nats-io/nats.go"
)

// maintenanceAudit tells the audit what was done to a stopped store. It notes how
// far it came. What is told twice within two minutes is the same record.
type maintenanceAudit struct {
	dir  string
	send func(context.Context, audit.Report) error
	log  *slog.Logger
}

func newMaintenanceAudit(dir string, nc *nats.Conn, log *slog.Logger) *maintenanceAudit {
	return &maintenanceAudit{dir, audit.Over(nc, audit.Issuer()), log}
}

// Run tells what the list has, and then what it gets, until ctx ends.
func (m *maintenanceAudit) Run(ctx context.Context) error {
	tick := time.NewTicker(credentialsEvery)
	defer tick.Stop()
	for {
		if err := m.look(ctx); err != nil && ctx.Err() == nil {
			m.log.WarnContext(ctx, "cannot tell the audit of maintenance yet", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (m *maintenanceAudit) path() string {
	return filepath.Join(m.dir, "auth", "maintained.audited")
}

// look tells what was not told.
func (m *maintenanceAudit) look(ctx context.Context) error {
	var at int64
	if data, err := os.ReadFile(m.path()); err == nil {
		_ = json.Unmarshal(data, &at) // damaged: everything is told again
	}
	list, next, err := natsd.Maintained(m.dir, at)
	if err != nil || next == at {
		return err
	}
	for _, done := range list {
		action := audit.LedgerChanged
		if done.Repair {
			action = audit.LedgerRepaired
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

// noteMaintenance puts something that was done to the store in --dir into its list
// for the audit. It is done either way.
func (a *app) noteMaintenance(note string) {
	if err := natsd.NoteMaintenance(a.Dir, natsd.Maintenance{Note: note}); err != nil {
		a.say("askbus: warning: this does not stand in the audit: %v", err)
	}
}
