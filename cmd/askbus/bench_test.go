package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchMeasuresABusThatRunsAlready(t *testing.T) {
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

func TestBenchSoakRuns(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	// What a pace tells depends on the machine: one that cannot carry it takes too
	// few samples, does not come to every kind of cycle, or refuses some. It gets
	// a slower one, for longer.
	var got map[string]any
	for _, pace := range [][3]string{{"4s", "15", "200ms"}, {"30s", "4", "1s"}, {"75s", "1", "2s"}} {
		got = pl.must(0, "bench", "soak", "--for", pace[0], "--rate", pace[1], "--every", pace[2], "--output", "json")
		samples, _ := got["samples"].(float64)
		if short := got["verdict"] == "too short to tell"; short != (samples < 5) {
			t.Fatalf("%v", got)
		}
		carried := samples >= 5 && got["failures"] == 0.0
		cycles, _ := got["cycles"].(map[string]any)
		for _, kind := range []string{"answered", "withdrawn", "expired", "listed", "doors"} {
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
