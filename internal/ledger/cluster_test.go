package ledger_test

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A leader that its peers hear no more may have been replaced, and does not
// know what was stored since: what it does not have may exist, what is pending
// there may have ended, and its list may be short.
func TestALeaderThatWasCutOffIsNotBelieved(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	admin, err := nats.Connect(servers[0].URL(), nats.UserInfo("admin", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	c, err := servers[0].Key().Credential(servers[0].URL(), natsd.Role{Name: natsd.RoleLedger})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := call.Connect(c.URL, c.User, c.Password, "", c.InboxPrefix, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	led, err := ledger.Open(t.Context(), nc, ledger.Options{Partitions: 1, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	lead(t, admin)
	if _, err := led.Store(t.Context(), key("s1", "a1"), question(t, key("s1", "a1"), time.Now())); err != nil {
		t.Fatal(err)
	}
	if e, err := led.Read(t.Context(), key("s1", "nobody")); err != nil || e != (ledger.Entry{}) {
		t.Fatalf("of a healthy cluster: %v, %v", e, err)
	}
	servers[1].Close()
	servers[2].Close()
	for {
		e, err := led.Read(t.Context(), key("s1", "nobody"))
		if err == nil && e == (ledger.Entry{}) {
			continue // its peers have been heard of just now
		}
		if !errors.Is(err, ask.ErrUnavailable) || !strings.Contains(err.Error(), "has heard of 1 of its 3 servers") {
			t.Fatalf("%v, %v", e, err)
		}
		break
	}
	if e, err := led.Read(t.Context(), key("s1", "a1")); !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("what it has may have ended: %v, %v", e, err)
	}
	if items, _, err := led.List(t.Context(), cloudevent.Query{Limit: 10}); !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("a list may be short: %v, %v", items, err)
	}
}

// cluster is three servers, with an admin whose password is "secret".
func cluster(t *testing.T) []*natsd.Server {
	t.Helper()
	dir := t.TempDir()
	routes := make([]string, 3)
	for i := range routes {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		routes[i] = ln.Addr().String()
		_ = ln.Close()
	}
	servers := make([]*natsd.Server, 3)
	for i := range servers {
		node := fmt.Sprintf("n%d", i+1)
		opts := natsd.Options{
			Dir: filepath.Join(dir, node), Addr: "127.0.0.1:0", Admin: "secret",
			Cluster: &natsd.Cluster{Node: node, Addr: routes[i], Routes: routes},
		}
		if err := natsd.ShareKey(filepath.Join(dir, "n1"), opts.Dir); err != nil {
			t.Fatal(err)
		}
		var err error
		if servers[i], err = natsd.Start(opts); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Close)
	}
	return servers
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
