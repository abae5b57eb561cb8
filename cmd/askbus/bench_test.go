package main

import "testing"

func TestBenchSoakRuns(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	got := pl.must(0, "bench", "soak", "--for", "2500ms", "--every", "200ms", "--rate", "40", "--output", "json")
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
