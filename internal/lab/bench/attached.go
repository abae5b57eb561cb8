package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// operatorFor returns the credential of a measuring operator.
const operatorFor = "askbus auth operator --asserts os=os:bench --output json"

// Attached measures a running bus. cred is an operator's, which may ask and answer everywhere.
// admin, if given, is a full-rights credential for the floor, whose streams are removed afterwards.
func Attached(tenant string, cred client.Credential, admin *client.Credential, log *slog.Logger) (*Bed, error) {
	if r, err := rights.ParseUser(cred.Name); err == nil && r.Name != rights.RoleOperator {
		return nil, fmt.Errorf("bench: the credential of %s may not ask and answer everywhere; use an operator's: \"%s\"", cred.Name, operatorFor)
	}
	if who, err := connection.Identify(cred.Creds); err == nil && !who.Asserts {
		return nil, fmt.Errorf("bench: the operator's credential may not answer for anybody; make one with \"%s\"", operatorFor)
	}
	b := &Bed{Sync: "unknown", Tenant: tenant, shared: true, run: runID(), log: logger(log)}
	b.dial = func(rights.Role) (*nats.Conn, error) { return client.Connect(cred, b.log) }
	if admin == nil {
		b.NoFloor = "no full-rights credential for this server was given (--admin-creds)"
		return b, nil
	}
	b.floor = func() (func(rights.Role) (*nats.Conn, error), error) {
		return func(rights.Role) (*nats.Conn, error) {
			nc, err := client.Connect(*admin, b.log)
			if err != nil {
				return nil, fmt.Errorf("--admin-creds: %w", err)
			}
			return nc, nil
		}, nil
	}
	return b, nil
}

// layout reads the layout of an attached bus's ledger, so that the floor's streams match it.
func (b *Bed) layout(ctx context.Context) error {
	if !b.shared || b.NoFloor != "" {
		return nil
	}
	connect, err := b.floor()
	if err != nil {
		return err
	}
	nc, err := connect(rights.Role{Name: rights.RoleLedgerAdmin})
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	streams := js.ListStreams(ctx, jetstream.WithStreamListSubject(subject.LedgerRoot+".>"))
	for s := range streams.Info() {
		if strings.HasPrefix(s.Config.Name, subject.StreamPrefix) {
			b.Partitions++
			b.Replicas = s.Config.Replicas
		}
	}
	switch err := streams.Err(); {
	case errors.Is(nc.LastError(), nats.ErrPermissionViolation):
		return fmt.Errorf("--admin-creds: the credential does not have full rights: %w", nc.LastError())
	case err != nil:
		return fmt.Errorf("--admin-creds: list the ledger's streams: %w", err)
	case b.Partitions == 0:
		return errors.New("--admin-creds: the credential sees no ledger; it is of another account, or no broker has run there")
	}
	return nil
}

// takeBack withdraws the remaining asks of our sessions, such as after Ctrl-C, because others see
// them in their inboxes.
func (a *Asks) takeBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range a.agents {
		all.Go(func() {
			for r, err := range c.All(ctx, client.Query{State: ask.StatePending}) {
				if err == nil {
					_, err = c.Withdraw(ctx, r.Ask.ID, "the measurement has ended")
				}
				if err != nil && !errors.Is(err, ask.ErrResolved) {
					a.bed.log.Warn("cannot withdraw what is left; it ends at its deadline", slog.Any("error", err))
					return
				}
			}
		})
	}
	all.Wait()
}
