package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A leader without contact to its peers may have been replaced, and does not
// know what was stored since: an ask that it does not have may exist, one that
// is pending there may have ended, and its list may be short.
func TestALeaderThatWasCutOffIsNotBelieved(t *testing.T) {
	t.Parallel()
	for range 3 {
		if cutOff(t) {
			return
		}
	}
	t.Error("the leader stepped down three times before its peers were gone")
}

// cutOff reports whether the leader was cut off while it led: on a busy machine
// the leadership can move just before.
func cutOff(t *testing.T) bool {
	t.Helper()
	servers := natstest.Cluster(t)
	admin := natstest.Plain(t, servers[0], rights.Role{Name: rights.RoleLedgerAdmin})
	nc := natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger})
	led, err := ledger.Open(t.Context(), nc, ledger.Options{Partitions: 1, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	lead(t, admin)
	if _, err := led.Store(t.Context(), question(t, key("s1", "a1"), time.Now())); err != nil {
		t.Fatal(err)
	}
	if e, err := led.Read(t.Context(), key("s1", "nobody")); err != nil || e.Known() {
		t.Fatalf("of a healthy cluster: %v, %v", e, err)
	}
	servers[1].Close()
	servers[2].Close()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	for {
		e, err := led.Read(ctx, key("s1", "nobody"))
		if err == nil && !e.Known() {
			continue // its peers were in contact just now
		}
		if ctx.Err() != nil {
			return false // no leader
		}
		if !ledger.IsTemporary(err) {
			t.Fatalf("%v, %v", e, err)
		}
		if !strings.Contains(err.Error(), "in contact with 1 of its 3 servers") {
			return false // it stepped down
		}
		break
	}
	if e, err := led.Read(ctx, key("s1", "a1")); !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("an ask that it has may have ended: %v, %v", e, err)
	}
	if items, _, err := led.List(ctx, wire.Query{Limit: 10}); !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("a list may be short: %v, %v", items, err)
	}
	return true
}

// lead makes the first server the leader of the first partition.
func lead(t *testing.T, admin *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(admin)
	if err != nil {
		t.Fatal(err)
	}
	for t.Context().Err() == nil {
		s, err := js.Stream(t.Context(), subject.Stream(0))
		if err == nil {
			info := s.CachedInfo().Cluster
			current := 0
			for _, r := range info.Replicas {
				if r.Current {
					current++
				}
			}
			if info.Leader == "n1" && current == 2 {
				return
			}
			if info.Leader == "n1" {
				continue
			}
		}
		_, _ = admin.Request("$JS.API.STREAM.LEADER.STEPDOWN."+subject.Stream(0), []byte(`{"placement":{"preferred":"n1"}}`), time.Second)
	}
}

// A ledger of one copy in a cluster may get more: it is not that of a single server, also
// not while nothing can be reached, when decisions under way ask.
func TestAClusterThatCannotBeReachedIsNoSingleServer(t *testing.T) {
	t.Parallel()
	servers := natstest.Cluster(t)
	nc := natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger})
	led, err := ledger.Open(t.Context(), nc, ledger.Options{Partitions: 1, NoAudit: true})
	if err != nil {
		t.Fatal(err)
	}
	lost := nc.StatusChanged(nats.RECONNECTING)
	for _, s := range servers {
		s.Close()
	}
	<-lost
	if led.Alone() {
		t.Error("it counts as a single server")
	}
}
