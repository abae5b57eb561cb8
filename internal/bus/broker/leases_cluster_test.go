package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// The leader of shared state changes repeatedly, and one server of three fails:
// the ask of a waiting agent stays, and that of an agent that is gone is
// withdrawn once the cluster is stable.
func TestLeasesOutliveTheLeaderOfTheirStream(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers")
	}
	servers := natstest.Cluster(t)
	connect := func(r rights.Role) *client.Client {
		c, err := client.New(natstest.Connect(t, servers[0], r), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	h := &held{t: t}
	led, err := ledger.Open(t.Context(), natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger}),
		ledger.Options{Partitions: 1, Replicas: 3, Ahead: func() time.Duration { return time.Duration(h.ahead.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	br := broker.New(natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleBroker}), led, broker.Options{Sweep: time.Hour})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- br.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	natstest.Eventually(t, "the broker is ready", br.Ready)
	h.brokers = []*broker.Broker{br}
	h.leases = openLeases(natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleResponder, Type: "web"}))

	agents := connect(rights.Role{Name: rights.RoleGateway})
	for _, name := range []string{"waits", "gone"} {
		a := storage()
		a.ID, a.WhileWaiting = "a", true
		if _, err := agents.Session("acme", name).Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(name string) *ask.Outcome {
		rec, err := agents.Session("acme", name).Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return rec.Outcome
	}
	admin := natstest.Plain(t, servers[0], rights.Role{Name: rights.RoleLedgerAdmin})
	for minute := range 24 {
		if minute < 8 {
			_, _ = admin.Request("$JS.API.STREAM.LEADER.STEPDOWN."+subject.StateStream, nil, time.Second)
		}
		if minute == 9 {
			servers[2].Close()
		}
		h.pass(time.Minute)
		waiting, stop := context.WithCancel(t.Context())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for waiting.Err() == nil {
				if _, err := agents.Session("acme", "waits").Wait(waiting, "a"); err == nil {
					return // it has ended
				}
			}
		}()
		natstest.Eventually(t, "the waiting agent's lease is renewed for three minutes", func() bool {
			select {
			case <-stopped:
				return true
			default:
			}
			v, ok := h.lease("waits")
			return ok && v.Lapsed.IsZero() && time.Until(v.Until) > time.Duration(h.ahead.Load())+150*time.Second
		})
		stop()
		<-stopped
		if o := ended("waits"); o != nil {
			t.Fatalf("minute %d: %s", minute, o.Ending())
		}
	}
	if o := ended("gone"); o == nil || !o.GaveUp() {
		t.Errorf("after 24 minutes: %+v", o)
	}
}
