package ledger_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// A ledger's budget is the smaller one of its broker's and its server's, and
// the log names both when the server's is smaller.
func TestTheBudgetIsTheSmallerOfBrokerAndServer(t *testing.T) {
	t.Parallel()
	const server = 128 << 20
	b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true, MaxStore: server})
	for _, v := range []struct {
		own, want int64
		log       string
	}{
		{1 << 30, server, `server=askbus server_max_store="128 MiB" max_store="1 GiB"`},
		{100 << 20, 100 << 20, ""},
		{0, server, ""},
	} {
		var log bytes.Buffer
		led, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Budget: v.own, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if _, budget := led.Usage(); budget != v.want {
			t.Errorf("the budget of %d is %d, want %d", v.own, budget, v.want)
		}
		if text := log.String(); !strings.Contains(text, v.log) || v.log == "" && strings.Contains(text, "may store") {
			t.Errorf("a budget of %d logs %q, want %q", v.own, text, v.log)
		}
	}
}

// Every server of a cluster is asked, through any of them.
func TestEveryServerSaysWhatItMayStore(t *testing.T) {
	t.Parallel()
	servers := natstest.Cluster(t)
	led, err := ledger.Open(t.Context(), natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger}), ledger.Options{Partitions: 1, NoAudit: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := led.Servers(); n != len(servers) {
		t.Errorf("%d servers of %d", n, len(servers))
	}
	if has, _, err := ledger.Set(t.Context(), natstest.Connect(t, servers[1], rights.Role{Name: rights.RoleMaintenance}), ledger.Settings{}); err != nil || has.Replicas != 3 {
		t.Errorf("%d copies: %v", has.Replicas, err)
	}
	if _, budget := led.Usage(); budget != 10<<30 {
		t.Errorf("the budget is %d", budget)
	}
}

// Three copies are made in a cluster unless the operator says another number, which a cluster of two
// servers needs; a ledger keeps what it has.
func TestACopyOnEachOfThreeServersIsTheDefaultInACluster(t *testing.T) {
	t.Parallel()
	servers := natstest.ClusterOf(t, 2)
	open := func(replicas int) (log string, err error) {
		var text bytes.Buffer
		opts := ledger.Options{Partitions: 1, Replicas: replicas, NoAudit: true, Logger: slog.New(slog.NewTextHandler(&text, nil))}
		_, err = ledger.Open(t.Context(), natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger}), opts)
		return text.String(), err
	}
	if _, err := open(0); err == nil || !strings.Contains(err.Error(), "with 3 copies") || !strings.Contains(err.Error(), "use --replicas 1") {
		t.Errorf("two servers: %v", err)
	}
	for _, replicas := range []int{1, 0} {
		if log, err := open(replicas); err != nil || !strings.Contains(log, "one copy of everything, in a cluster") {
			t.Errorf("--replicas %d: %v, the log: %s", replicas, err, log)
		}
	}
}
