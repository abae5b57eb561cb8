package natsd_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// nodes returns the settings of three servers of one cluster.
func nodes(t *testing.T) []natsd.Options {
	t.Helper()
	dir := t.TempDir()
	routes, clients := addresses(t), addresses(t)
	all := make([]natsd.Options, 3)
	for i := range all {
		node := fmt.Sprintf("n%d", i+1)
		all[i] = natsd.Options{
			Dir: filepath.Join(dir, node), Addr: clients[i], Admin: true, Logger: natstest.Logger(),
			Cluster: &natsd.Cluster{Node: node, Addr: routes[i], Routes: routes},
		}
		if err := rights.ShareKey(filepath.Join(dir, "n1"), all[i].Dir); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func addresses(t *testing.T) []string {
	t.Helper()
	all, err := freeaddr.Pick(3)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Damage in one node of a cluster is reported by that node; after it is moved
// aside, the node's peers replace it completely.
func TestDamageInOneNodeHealsFromItsPeers(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, dir string){
		"a bit flips in the first file": func(t *testing.T, dir string) { t.Helper(); flip(t, blockFiles(t, dir)[0], 500_000) },
		"the first file is missing":     func(t *testing.T, dir string) { t.Helper(); remove(t, blockFiles(t, dir)[0]) },
		"the last file is missing": func(t *testing.T, dir string) {
			t.Helper()
			files := blockFiles(t, dir)
			remove(t, files[len(files)-1])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			healed(t, damage)
		})
	}
}

// A node whose budget is less than what the audit and the files may use takes no copies, but only if it must make one:
// it would be ready at some starts and at others not. It does not start, and says what it needs.
func TestANodeWithLessThanItsStreamsMayUse(t *testing.T) {
	t.Parallel()
	all := nodes(t)
	servers := make([]*natsd.Server, 3)
	for i := range all {
		s, err := natsd.Start(all[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		servers[i] = s
	}
	_, js := admin(t, servers[0])
	natstest.Eventually(t, "a bounded stream is made", func() bool {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FILES", Subjects: []string{"ledgerv1.file.>"}, MaxBytes: 200 << 20, Replicas: 3})
		return err == nil || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse)
	})
	natstest.Eventually(t, "the third node has its copy", func() bool {
		found, _ := filepath.Glob(filepath.Join(all[2].Dir, "nats", "jetstream", "*", "streams", "FILES", "meta.inf"))
		return len(found) == 1
	})
	servers[2].Close()
	odd := all[2].Dir + "[b" // no pattern
	if err := os.Rename(all[2].Dir, odd); err != nil {
		t.Fatal(err)
	}
	all[2].Dir, all[2].MaxStore = odd, 100<<20
	if s, err := natsd.Start(all[2]); err == nil {
		s.Close()
		t.Fatal("it started")
	} else {
		wants(t, err.Error(), "--max-store 100 MiB", "may use 200 MiB")
	}
	all[2].MaxStore = 300 << 20
	s, err := natsd.Start(all[2])
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	natstest.Eventually(t, "it is ready", func() bool { return s.Healthy() == nil })
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func healed(t *testing.T, damage func(t *testing.T, dir string)) {
	t.Helper()
	all := nodes(t)
	servers := make([]*natsd.Server, 3)
	run := func(i int) {
		t.Helper()
		s, err := natsd.Start(all[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		servers[i] = s
	}
	for i := range all {
		run(i)
	}
	nc, js := admin(t, servers[0])
	create(t, js)
	put := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			// A cluster that lost a node may have no leader for a while.
			natstest.Eventually(t, "a message is stored", func() bool {
				_, err := js.Publish(t.Context(), fmt.Sprintf("ledgerv1.00.acme.s1.a%d.q", i), make([]byte, 900_000), jetstream.WithMsgID(fmt.Sprint(i)))
				return err == nil
			})
		}
	}
	put(0, 20)
	waitForAll(t, all[2].Dir)
	servers[2].Close()
	put(20, 24) // while it is down
	damage(t, all[2].Dir)
	if s, err := natsd.Start(all[2]); err == nil {
		s.Close()
		t.Fatal("a damaged node started")
	} else {
		wants(t, err.Error(), "corrupt", ".blk", "askbus ledger repair --from-peers", "one node at a time")
	}
	r, err := storecheck.Repair(all[2].Dir, true)
	if err != nil || len(r.Damages) != 1 {
		t.Fatalf("repair: %+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(r.Aside, "ASKS_00", "msgs")); err != nil {
		t.Error(err)
	}
	run(2)
	natstest.Eventually(t, "the node has caught up", func() bool { return onDisk(all[2].Dir) >= 24*900_000 })
	lead(t, nc, js, "n3")
	for i := range 24 { // the leader reads its own disk
		var msg *jetstream.RawStreamMsg
		var err error
		natstest.Eventually(t, "the new leader answers", func() bool {
			msg, err = get(t, js, fmt.Sprintf("ledgerv1.00.acme.s1.a%d.q", i))
			busy, ok := errors.AsType[*jetstream.APIError](err)
			return !ok || busy.Code != http.StatusServiceUnavailable
		})
		if err != nil || len(msg.Data) != 900_000 || msg.Sequence != uint64(i+1) {
			t.Fatalf("message %d of the healed node: %v", i, err)
		}
	}
}

func create(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	natstest.Eventually(t, "the stream is made", func() bool {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ASKS_00", Subjects: []string{"ledgerv1.00.>"}, Replicas: 3})
		return err == nil
	})
}

func get(t *testing.T, js jetstream.JetStream, subject string) (*jetstream.RawStreamMsg, error) {
	t.Helper()
	s, err := js.Stream(t.Context(), "ASKS_00")
	if err != nil {
		return nil, err
	}
	return s.GetLastMsgForSubject(t.Context(), subject)
}

// waitForAll waits until a node has a third block file, and has recorded all.
func waitForAll(t *testing.T, dir string) {
	t.Helper()
	natstest.Eventually(t, "the node has what was stored", func() bool { return len(blockFiles(t, dir)) >= 3 })
	waitForBlocks(t, dir)
}

// onDisk returns the size of a node's block files of the first stream.
func onDisk(dir string) (size int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "A*", "streams", "ASKS_00", "msgs", "*.blk"))
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size
}

// lead makes a node the leader.
func lead(t *testing.T, nc *nats.Conn, js jetstream.JetStream, node string) {
	t.Helper()
	natstest.Eventually(t, node+" leads", func() bool {
		s, err := js.Stream(t.Context(), "ASKS_00")
		if err != nil {
			return false
		}
		c := s.CachedInfo().Cluster
		if c.Leader == node {
			return true
		}
		for _, r := range c.Replicas {
			if c.Leader != "" && r.Name == node && r.Current && !r.Offline {
				_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.ASKS_00", fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, node), time.Second)
			}
		}
		return false
	})
}
