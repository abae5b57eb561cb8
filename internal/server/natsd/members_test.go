package natsd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go/jetstream"
)

// One of three nodes fails for good. A fourth replaces it, the cluster removes
// the failed one, and the copies are on the new one.
func TestANodeIsRemovedForGood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	addrs, err := freeaddr.Pick(8)
	if err != nil {
		t.Fatal(err)
	}
	routes, clients := addrs[:4], addrs[4:]
	servers := make([]*natsd.Server, 4)
	run := func(i int) {
		t.Helper()
		node := fmt.Sprintf("n%d", i+1)
		o := natsd.Options{
			Dir: filepath.Join(dir, node), Addr: clients[i], Admin: true, Logger: natstest.Logger(),
			Cluster: &natsd.Cluster{Node: node, Addr: routes[i], Routes: routes[:max(3, i+1)]},
		}
		if err := rights.ShareKey(filepath.Join(dir, "n1"), o.Dir); err != nil {
			t.Fatal(err)
		}
		if servers[i], err = natsd.Start(o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Close)
	}
	for i := range 3 {
		run(i)
	}
	_, js := admin(t, servers[0])
	create(t, js)
	sys := natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleCluster})
	remove := func(node string) ([]natsd.Member, error) {
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
		defer cancel()
		return natsd.RemoveNode(ctx, sys, node)
	}
	for node, want := range map[string]string{"n2": "node n2 is running: stop it", "n9": `no node "n9" in this cluster, which has`} {
		if _, err := remove(node); err == nil {
			t.Errorf("%s was removed", node)
		} else {
			wants(t, err.Error(), want)
		}
	}
	servers[2].Close()
	run(3)
	natstest.Eventually(t, "n4 is a node", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
		defer cancel()
		members, err := natsd.Members(ctx, sys)
		return err == nil && len(members) == 4
	})
	var left []natsd.Member
	natstest.Eventually(t, "n3 is removed", func() bool {
		left, err = remove("n3")
		return err == nil
	})
	if len(left) != 3 {
		t.Errorf("left are %v", left)
	}
	natstest.Eventually(t, "n4 has what n3 had", func() bool {
		s, err := js.Stream(t.Context(), "ASKS_00")
		if err != nil {
			return false
		}
		c := s.CachedInfo().Cluster
		peers := append([]*jetstream.PeerInfo{{Name: c.Leader, Current: true}}, c.Replicas...)
		current, gone := map[string]bool{}, false
		for _, p := range peers {
			current[p.Name] = p.Current
			gone = gone || p.Name == "n3"
		}
		return !gone && current["n4"] && len(peers) == 3
	})
}

func TestAServerThatIsAloneHasNoNodes(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	_, err := natsd.RemoveNode(ctx, b.Connect(rights.Role{Name: rights.RoleCluster}), "n1")
	if err == nil {
		t.Fatal("no error")
	}
	wants(t, err.Error(), "not a node of a cluster")
}
