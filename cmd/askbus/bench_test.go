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
	got := pl.must(0, "bench", "soak", "--for", "4s", "--every", "200ms", "--rate", "15", "--output", "json")
	if n, _ := got["samples"].(float64); n < 5 || got["verdict"] == "too short to tell" || got["failures"] != 0.0 {
		t.Errorf("%v", got)
	}
	cycles, _ := got["cycles"].(map[string]any)
	for _, kind := range []string{"answered", "withdrawn", "expired", "listed"} {
		if n, _ := cycles[kind].(float64); n == 0 {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
