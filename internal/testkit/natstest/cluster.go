package natstest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
)

// Cluster starts three servers of one cluster, which stop when the test ends.
func Cluster(t testing.TB) []*natsd.Server {
	t.Helper()
	return ClusterOf(t, 3)
}

// ClusterOf is [Cluster] with another number of servers.
func ClusterOf(t testing.TB, size int) []*natsd.Server {
	t.Helper()
	dir := t.TempDir()
	routes, err := freeaddr.Pick(size)
	if err != nil {
		t.Fatal(err)
	}
	servers := make([]*natsd.Server, size)
	for i := range servers {
		node := fmt.Sprintf("n%d", i+1)
		opts := natsd.Options{
			Dir: filepath.Join(dir, node), Addr: "127.0.0.1:0", Admin: true,
			Cluster: &natsd.Cluster{Node: node, Addr: routes[i], Routes: routes},
		}
		if err := rights.ShareKey(filepath.Join(dir, "n1"), opts.Dir); err != nil {
			t.Fatal(err)
		}
		if servers[i], err = natsd.Start(opts); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Close)
	}
	return servers
}
