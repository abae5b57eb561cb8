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
	led, err := ledger.Open(t.Context(), natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger}), ledger.Options{Partitions: 1, Replicas: 3, NoAudit: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := led.Servers(); n != len(servers) {
		t.Errorf("%d servers of %d", n, len(servers))
	}
	if _, budget := led.Usage(); budget != 10<<30 {
		t.Errorf("the budget is %d", budget)
	}
}

// A broker that is not told how many copies to make makes one, even in a cluster, and says so.
func TestOneCopyInAClusterIsWarnedOf(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	opts := ledger.Options{Partitions: 1, NoAudit: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if _, err := ledger.Open(t.Context(), natstest.Connect(t, natstest.Cluster(t)[0], rights.Role{Name: rights.RoleLedger}), opts); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "one copy of everything, in a cluster") {
		t.Errorf("the log: %s", log.String())
	}
}
