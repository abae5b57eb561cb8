package role

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/server/storecheck"
)

func TestTheAuditIsToldOfMaintenanceOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var told []string
	var away error
	look := func() error {
		t.Helper()
		m := newMaintenanceAudit(dir, nil, slog.New(slog.DiscardHandler)) // a process of its own
		m.send = func(_ context.Context, r audit.Report) error {
			if away == nil {
				told = append(told, string(r.Action)+" "+r.Object.Note)
			}
			if r.Time.IsZero() || r.ID == "" {
				t.Errorf("%+v", r)
			}
			return away
		}
		return m.check(t.Context())
	}
	if err := look(); err != nil { // there is no list
		t.Error(err)
	}
	note := func(m storecheck.Maintenance) {
		t.Helper()
		if err := storecheck.NoteMaintenance(dir, m); err != nil {
			t.Fatal(err)
		}
	}
	note(storecheck.Maintenance{Repair: true, Note: "two blocks are lost"})
	away = errors.New("no broker")
	if err := look(); !errors.Is(err, away) {
		t.Error(err)
	}
	away = nil
	for range 2 {
		if err := look(); err != nil {
			t.Error(err)
		}
	}
	note(storecheck.Maintenance{Note: "retention 24h0m0s"})
	note(storecheck.Maintenance{Saved: true, Note: "a backup of 3 asks"})
	if err := look(); err != nil {
		t.Error(err)
	}
	if want := []string{"ledger.repaired two blocks are lost", "ledger.changed retention 24h0m0s", "ledger.saved a backup of 3 asks"}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}
