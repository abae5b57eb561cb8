package responder_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// replica is a running server of one account.
type replica struct {
	limiter    *responder.Limiter
	nc         *nats.Conn
	stop, kill func()
}

// posting starts a replica. Each has a connection of its own, as a process has.
func posting(t *testing.T, b *natstest.Bus, role rights.Role, account string) *replica {
	t.Helper()
	return postingTo(t, b, role, account, natstest.Logger())
}

func postingTo(t *testing.T, b *natstest.Bus, role rights.Role, account string, log *slog.Logger) *replica {
	t.Helper()
	nc := b.Connect(role)
	r, err := responder.New(nc, role.Type, responder.Options{Tenant: role.Tenant, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	l := responder.NewLimiter(nil, func(string) responder.Pace { return responder.Pace{Every: time.Second, Burst: 9} })
	s, err := responder.NewServer(r, &wall{posts: map[string]int{}}, responder.ServeOptions{Limiter: l, Account: account})
	if err != nil {
		t.Fatal(err)
	}
	s.Beat(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx) // a killed one has an error
	}()
	stop := func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return &replica{limiter: l, nc: nc, stop: stop, kill: nc.Close}
}

// shares waits until each replica takes its part of n.
func shares(t *testing.T, why string, n int, of ...*replica) {
	t.Helper()
	natstest.Eventually(t, why, func() bool {
		for _, r := range of {
			if r.limiter.Replicas() != n {
				return false
			}
		}
		return true
	})
}

// The limits follow the living replicas: those that come, stop, and die without a word. Those of another
// account, type or tenant do not count.
func TestLimitsFollowTheLivingReplicas(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	chat := rights.Role{Name: rights.RoleResponder, Type: "chat"}
	posting(t, b, rights.Role{Name: rights.RoleResponder, Type: "mail"}, "bot")
	other := posting(t, b, chat, "another bot")
	one := posting(t, b, chat, "bot")
	shares(t, "one has everything", 1, one, other)
	two := posting(t, b, chat, "bot")
	shares(t, "two have a half each", 2, one, two)
	three := posting(t, b, chat, "bot")
	shares(t, "three have a third each", 3, one, two, three)
	three.stop()
	shares(t, "one stopped", 2, one, two)
	three = posting(t, b, chat, "bot")
	shares(t, "it is back", 3, one, two, three)
	two.kill()
	shares(t, "one died", 2, one, three)
	three.kill()
	shares(t, "only one is left", 1, one, other)
}

// noisy is a log of what is said of another account.
type noisy chan string

func (n noisy) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "another account") {
		n <- string(line)
	}
	return len(line), nil
}

// Two bots of one chat would share the asks of a tenant, and neither can edit what the other posted: both say so, once.
// Those of another tenant, and another chat, are no rivals.
func TestTwoAccountsOfOneServiceAreNoticed(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	chat := func(tenant string) rights.Role {
		return rights.Role{Name: rights.RoleResponder, Type: "chat", Tenant: tenant}
	}
	said := make(noisy, 100)
	one := postingTo(t, b, chat("acme"), "bot", slog.New(slog.NewTextHandler(said, nil)))
	posting(t, b, rights.Role{Name: rights.RoleResponder, Type: "mail", Tenant: "acme"}, "box")
	posting(t, b, chat("beta"), "another bot")
	poller, err := responder.New(b.Connect(chat("acme")), "chat", responder.Options{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	alone, polling := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(polling)
		poller.Alone(t.Context(), "bot", func(ctx context.Context) { close(alone); <-ctx.Done() })
	}()
	t.Cleanup(func() { <-polling })
	<-alone
	posting(t, b, chat("acme"), "bot")
	shares(t, "two of one account", 2, one)
	select {
	case line := <-said:
		t.Errorf("nobody else is there: %s", line)
	default:
	}
	posting(t, b, chat("acme"), "another bot")
	select {
	case line := <-said:
		if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "responder=chat") {
			t.Errorf("it says %q", line)
		}
	case <-time.After(waittest.Limit):
		t.Error("nobody is told")
	}
}

// A replica cannot speak for another type, and one of a single tenant shares with its like.
func TestReplicasOfATenantShareTheirLimits(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	acme := rights.Role{Name: rights.RoleResponder, Type: "chat", Tenant: "acme"}
	one, two := posting(t, b, acme, "bot"), posting(t, b, acme, "bot")
	shares(t, "two of a tenant have a half each", 2, one, two)
	if n := posting(t, b, rights.Role{Name: rights.RoleResponder, Type: "chat", Tenant: "other"}, "bot").limiter.Replicas(); n != 1 {
		t.Errorf("one of another tenant has 1/%d", n)
	}
}
