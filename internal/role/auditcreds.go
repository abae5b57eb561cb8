package role

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// credentialAudit reports to the audit which credentials any process issued or revoked with the
// keys of a directory. It stores its progress, so that it catches up after a restart. Repeating a
// report yields the same record.
type credentialAudit struct {
	dir  string
	send func(context.Context, audit.Report) error
	log  *slog.Logger

	seen os.FileInfo // the list's file when it was last read
	told told
}

// told is the progress of the reports. Revocations have times in whole seconds, so told lists the
// reports of the last second.
type told struct {
	Until time.Time `json:"until"` // everything before this second is reported
	IDs   []string  `json:"ids"`   // reported, of this second and later
}

func (t *told) has(r *audit.Report) bool {
	return r.Time.Before(t.Until) || slices.Contains(t.IDs, r.ID)
}

func (t *told) add(r *audit.Report) {
	if second := r.Time.Truncate(time.Second); second.After(t.Until) {
		t.Until, t.IDs = second, nil
	}
	t.IDs = append(t.IDs, r.ID)
}

const (
	credentialsEvery = 2 * time.Second
	toldFile         = "audited"
)

func newCredentialAudit(dir string, nc *nats.Conn, log *slog.Logger) *credentialAudit {
	return &credentialAudit{dir: dir, log: log, send: audit.Over(nc, audit.Issuer())}
}

// Run reports new entries of the list until ctx ends.
func (c *credentialAudit) Run(ctx context.Context) error {
	if data, err := os.ReadFile(c.path(toldFile)); err == nil {
		_ = json.Unmarshal(data, &c.told) // damaged: report everything again
	}
	return reportEvery(ctx, c.log, "credentials", c.check)
}

// reportEvery calls report until ctx ends, and logs what stops it.
func reportEvery(ctx context.Context, log *slog.Logger, about string, report func(context.Context) error) error {
	for on := true; on; on = backoff.Sleep(ctx, credentialsEvery) == nil {
		if err := report(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "cannot report to the audit yet", slog.String("about", about), slog.Any("error", err))
		}
	}
	return nil
}

func (c *credentialAudit) path(name string) string { return filepath.Join(c.dir, "auth", name) }

// check reports the entries of the list that are not reported yet.
func (c *credentialAudit) check(ctx context.Context) error {
	info, err := os.Stat(c.path("issued.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.seen != nil && os.SameFile(c.seen, info) && c.seen.ModTime().Equal(info.ModTime()) && c.seen.Size() == info.Size() {
		return nil
	}
	list, err := rights.Issued(c.dir)
	if err != nil {
		return err
	}
	reports := untold(list, &c.told)
	for i := range reports {
		if err = c.send(ctx, reports[i]); err != nil {
			break
		}
		c.told.add(&reports[i])
	}
	if err == nil {
		c.seen = info
	}
	if len(reports) == 0 {
		return err
	}
	data, encode := json.Marshal(c.told)
	return errors.Join(err, encode, os.WriteFile(c.path(toldFile), append(data, '\n'), 0o600))
}

// untold returns the reports that were not sent yet, in chronological order.
func untold(list []identity.Issued, told *told) (reports []audit.Report) {
	for _, i := range list {
		role, _ := rights.ParseUser(i.Name) // unknown roles stay empty
		add := func(action audit.Action, prefix string, at time.Time) {
			r := audit.Report{
				Action: action, ID: prefix + i.Key, Time: at.UTC(), Tenant: role.Tenant, Session: role.Session,
				Object: &audit.Object{Kind: "credential", ID: i.Key, Role: i.Name, Note: i.Note, Expires: i.Expires.UTC()},
			}
			if !told.has(&r) {
				reports = append(reports, r)
			}
		}
		add(audit.CredentialIssued, "i-", i.Issued)
		if i.Revoked != nil {
			add(audit.CredentialRevoked, "r-", *i.Revoked)
		}
	}
	sort.SliceStable(reports, func(i, j int) bool {
		x, y := &reports[i], &reports[j]
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.ID, y.ID)) < 0
	})
	return reports
}
