package role

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/revocations"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// broker makes a broker on its connections.
func (r *Process) broker(ctx context.Context, creds operator.BrokerCreds, l config.Ledger, types []string) (*broker.Broker, error) {
	if err := broker.CheckTypes(types); err != nil {
		return nil, cli.Usage("--responder-types: %w", err)
	}
	budget, err := file.ParseSize(l.MaxStore)
	if err != nil {
		return nil, cli.Usage("--max-store: %w", err)
	}
	audited, err := operator.AuditSettings(l.AuditRetention, l.AuditBytes, l.AuditFull)
	if err != nil {
		return nil, err
	}
	quotas, err := r.quotas(l.Policy)
	if err != nil {
		return nil, err
	}
	approved, err := r.approvals(l.Approvals)
	if err != nil {
		return nil, err
	}
	svcConn, err := r.connect(creds.Service)
	if err != nil {
		return nil, err
	}
	ledConn, err := r.connect(creds.Ledger)
	if err != nil {
		return nil, err
	}
	servers, err := r.servers(creds.Clock)
	if err != nil {
		return nil, err
	}
	open, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ledger, err := ledger.Open(open, ledConn, ledger.Options{
		Partitions: l.Partitions, Replicas: l.Replicas, Retention: l.Retention, Margin: l.Margin, Budget: budget, Logger: r.Log, Audit: audited,
		Servers: servers, Clock: func() time.Time { return time.Now().Add(r.clockAhead) },
	})
	if err != nil {
		return nil, err
	}
	verifier, err := r.verifier(servers)
	if err != nil {
		return nil, err
	}
	b := broker.New(svcConn, ledger, broker.Options{
		Logger: r.Log, Version: cli.BuildVersion(), Types: types, Metrics: r.metrics, Tracing: r.tracing, Verifier: verifier,
		Quotas: quotas, Policy: func(tenant string) string { return quotas().MinProof(tenant) }, Approvals: approved, Unread: r.unread,
	})
	r.parts = append(r.parts, daemon.Part{Name: "broker", Run: b.Run})
	return b, nil
}

// servers connects to the system account, to ask the servers for their time. It returns nil if
// there is no credential for that, or if the NATS server is not askbus's and refuses it.
func (r *Process) servers(c client.Credential) (*nats.Conn, error) {
	const without = "a wrong clock of a server is reported without its name, and the server keeps its lead"
	if c.Creds == "" {
		r.Log.Warn("the broker's credential lacks the part that asks the servers for their time: "+without, slog.String("help", "print it again with \"askbus auth broker\""))
		return nil, nil
	}
	nc, err := r.connect(c)
	if errors.Is(err, nats.ErrAuthorization) {
		r.Log.Warn("the NATS server refuses the credential that asks the servers for their time: "+without, slog.Any("error", err))
		return nil, nil
	}
	return nc, err
}

// verifier checks the credentials of responders: with the account in the directory, or the one from
// the broker's own credential and what the servers say is revoked.
func (r *Process) verifier(servers *nats.Conn) (broker.Verifier, error) {
	if r.a.Creds == "" {
		return identity.NewVerifier(identity.BusAccount(r.a.Dir)), nil
	}
	c, err := operator.ReadBrokerCreds(r.a.Creds)
	if err != nil {
		return nil, err
	}
	if c.Account == "" {
		r.Log.Warn("the broker's credential lacks the account's JWT, so nobody can answer in a person's name; print it again with \"askbus auth broker\"")
	}
	v := identity.NewVerifier(func() (string, error) {
		c, err := operator.ReadBrokerCreds(r.a.Creds)
		if err == nil && c.Account == "" {
			err = errors.New("it lacks the account; print the credential again with \"askbus auth broker\"")
		}
		return c.Account, err
	})
	if servers != nil {
		heard, err := revocations.Listen(servers, revocations.Every, r.Log)
		if err != nil {
			return nil, err
		}
		r.Closes = append(r.Closes, heard.Close)
		v.Hear(heard.At)
	}
	return v, nil
}

// quotas returns the limits of tenants: those of the policy file, else the defaults.
func (r *Process) quotas(path string) (func() *quota.Policy, error) {
	if path == "" {
		p := quota.Default()
		return func() *quota.Policy { return p }, nil
	}
	f, err := file.OpenLive(path, quota.Parse, r.Log)
	if err != nil {
		return nil, cli.Usage("--policy: %w", err)
	}
	r.files = append(r.files, f.Err)
	return f.Content, nil
}

// approvals returns the content of the approvals file; nil: there is none.
func (r *Process) approvals(path string) (func() *approvals.File, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no policies
	}
	f, err := file.OpenLive(path, approvals.Parse, r.Log)
	if err != nil {
		return nil, cli.Usage("--approvals: %w", err)
	}
	r.files = append(r.files, f.Err)
	return f.Content, nil
}

// unread returns why the operator's files cannot be read as they are now.
func (r *Process) unread() (says []string) {
	for _, err := range r.files {
		if why := err(); why != nil && !slices.Contains(says, why.Error()) { // "askbus up" reads the policy twice
			says = append(says, why.Error())
		}
	}
	return says
}
