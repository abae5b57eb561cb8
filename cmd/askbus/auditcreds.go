package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/audit"
	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
)

// credentialAudit tells the audit which credentials were handed out and revoked
// with the keys of a directory, by whatever process. It notes how far it came, so
// that what happened while it was down is told when it runs again. What is told
// twice is the same record.
type credentialAudit struct {
	dir  string
	send func(context.Context, audit.Report) error
	log  *slog.Logger

	seen os.FileInfo // the list, when it was last read
	told told
}

// told is how far the audit was told. Revocations are dated in whole seconds, so
// what was told of the last second is named.
type told struct {
	Until time.Time `json:"until"` // everything before this second is told
	IDs   []string  `json:"ids"`   // and these, of this second and later
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
	return &credentialAudit{dir: dir, log: log, send: func(ctx context.Context, r audit.Report) error {
		return audit.Send(ctx, nc, audit.Sender{Role: subject.StateIssuer}, r)
	}}
}

// Run follows the list until ctx ends.
func (c *credentialAudit) Run(ctx context.Context) error {
	if data, err := os.ReadFile(c.path(toldFile)); err == nil {
		_ = json.Unmarshal(data, &c.told) // damaged: everything is told again
	}
	tick := time.NewTicker(credentialsEvery)
	defer tick.Stop()
	for {
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "cannot tell the audit of credentials yet", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *credentialAudit) path(name string) string { return filepath.Join(c.dir, "auth", name) }

// look tells what the list has that was not told.
func (c *credentialAudit) look(ctx context.Context) error {
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
	list, err := natsd.Issued(c.dir)
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

// untold are the reports about what was not told, in the order of time.
func untold(list []identity.Issued, told *told) (reports []audit.Report) {
	for _, i := range list {
		role, _ := natsd.ParseUser(i.Name) // it may be no role of ours
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
	slices.SortStableFunc(reports, func(x, y audit.Report) int { return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.ID, y.ID)) })
	return reports
}
