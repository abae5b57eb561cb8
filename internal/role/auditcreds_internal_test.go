package role

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
)

func TestEachCredentialIsAuditedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := natsd.Init(dir); err != nil {
		t.Fatal(err)
	}
	keys, err := rights.LoadIssuer(dir)
	if err != nil {
		t.Fatal(err)
	}
	give := func() {
		t.Helper()
		if _, err := keys.HandOut("nats://x", rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}, assertion.Set{}, time.Hour, "for CI"); err != nil {
			t.Fatal(err)
		}
	}
	var told []audit.Action
	var away error
	fresh := func() *credentialAudit {
		c := newCredentialAudit(dir, nil, slog.New(slog.DiscardHandler))
		c.send = func(_ context.Context, r audit.Report) error {
			if away == nil {
				told = append(told, r.Action)
			}
			if away == nil && (r.Tenant != "acme" || r.Object.Role != "agent/acme/s1" || r.Object.Note != "for CI") {
				t.Errorf("%+v %+v", r, r.Object)
			}
			return away
		}
		return c
	}
	run := func(c *credentialAudit) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // one look
		if err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	give()
	away = errors.New("no broker")
	run(fresh())
	away = nil
	run(fresh())
	list, err := rights.Issued(dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := rights.Revoke(dir, list[0].Key); err != nil {
		t.Fatal(err)
	}
	run(fresh()) // restarted
	run(fresh())
	if want := []audit.Action{audit.CredentialIssued, audit.CredentialRevoked}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}
