//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/freeaddr"
)

func TestBenchMeasuresARunningBus(t *testing.T) {
	t.Parallel()
	bus, _ := up(t)
	creds, _, _ := bus.run("auth", "operator", "--asserts", "os=os:bench", "--output", "json")
	file := filepath.Join(t.TempDir(), "operator.json")
	if err := os.WriteFile(file, []byte(creds), 0o600); err != nil {
		t.Fatal(err)
	}
	pl := place{t, t.TempDir()}
	at := []string{"--nats-url", bus.context().NATSURL, "--creds", file, "--rounds", "1", "--round", "50ms", "--in-flight", "1,4", "--output", "json"}
	got := pl.must(0, append([]string{"bench", "--quick"}, at...)...)
	if floor, _ := got["floor"].(string); !strings.Contains(floor, "left out") || len(got["cycle"].([]any)) != 2 {
		t.Errorf("%v", got)
	}
	if got := pl.must(0, append([]string{"bench", "noisy"}, at...)...); got["noise_per_s"] == 0.0 {
		t.Errorf("%v", got)
	}
	if got := pl.must(0, append([]string{"bench", "visible", "--asks", "2"}, at...)...); got["screen"] == nil {
		t.Errorf("%v", got)
	}
	if got := bus.must(0, "list", "--output", "json"); len(got["items"].([]any)) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestBenchScreenFollowsAnInboxInItsOwnProcess(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	got := pl.must(0, "bench", "screen", "--pending", "3", "--events", "4", "--output", "json")
	if shown, _ := got["shown"].(map[string]any); shown["n"] != 2.0 || got["events"] != 4.0 || got["pending"] != 3.0 {
		t.Errorf("%v", got)
	}
	pl.must(2, "bench", "screen", "--events", "1", "--output", "json")
}

func TestBenchEntrancesAsksThroughEach(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	got := pl.must(0, "bench", "entrances", "--rounds", "1", "--round", "20ms", "--in-flight", "1,2", "--output", "json")
	rows, _ := got["entrances"].([]any)
	for _, row := range rows {
		if r, _ := row.(map[string]any); r["per_s"] == 0.0 || r["p50_ratio"] == 0.0 {
			t.Errorf("%v", r)
		}
	}
	if len(rows) != 2*7 {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
}

func TestBenchSoakRuns(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	// The result depends on the machine: a slow one takes too few samples, misses some kinds of
	// cycle, or refuses some. Then retry at a lower rate, for longer.
	var got map[string]any
	for _, pace := range [][3]string{{"4s", "15", "200ms"}, {"30s", "4", "1s"}, {"75s", "1", "2s"}} {
		got = pl.must(0, "bench", "soak", "--for", pace[0], "--rate", pace[1], "--every", pace[2], "--output", "json")
		samples, _ := got["samples"].(float64)
		if short := got["verdict"] == "too short to tell"; short != (samples < 5) {
			t.Fatalf("%v", got)
		}
		carried := samples >= 5 && got["failures"] == 0.0
		cycles, _ := got["cycles"].(map[string]any)
		for _, kind := range []string{"answered", "withdrawn", "expired", "listed", "endpoints"} {
			n, _ := cycles[kind].(float64)
			carried = carried && n > 0
		}
		if carried {
			return
		}
		t.Logf("%s a second: %v", pace[1], got)
	}
	t.Errorf("no pace is slow enough: %v", got)
}

func TestBenchDrillAnswersInTheInboxAndInAFakeSlack(t *testing.T) {
	t.Parallel()
	bus, _ := up(t)
	addrs, err := freeaddr.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	at := addrs[0]
	c := bus.context()
	startWith(t, []string{"ASKBUS_SLACK_URL=http://" + at + "/api/", "ASKBUS_SLACK_BOT_TOKEN=xoxb-fake", "ASKBUS_SLACK_APP_TOKEN=xapp-fake", "ASKBUS_SLACK_CHANNEL=C0ASKS"}, "",
		"slack", "--dir", bus.dir, "--tenant", "chat", "--ops-addr", "127.0.0.1:0")
	got := bus.must(0, "bench", "drill", "--nats-url", c.NATSURL, "--inbox-url", c.HTTPURL, "--slack-addr", at, "--rate", "10", "--for", "3s", "--slack-every", "1s", "--output", "json")
	if got["lost"] != 0.0 || got["doubled"] != 0.0 || got["open_cards"] != 0.0 || got["cards"] == 0.0 || got["answered_in_slack"] == 0.0 || got["answered_in_inbox"] == 0.0 {
		t.Errorf("%v", got)
	}
	for _, args := range [][]string{{}, {"--nats-url", c.NATSURL, "--inbox-url", c.HTTPURL, "--rate", "0"}, {"--nats-url", c.NATSURL, "--inbox-url", c.HTTPURL, "--inbox-ca-file", "none"}} {
		bus.must(2, append([]string{"bench", "drill", "--output", "json"}, args...)...)
	}
}
