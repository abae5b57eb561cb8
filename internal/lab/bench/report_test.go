package bench_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
)

// tiny is a minimal plan: tests check that it runs, never how fast.
func tiny() bench.Plan {
	return bench.Plan{InFlight: []int{1, 4}, Rounds: 1, Round: 50 * time.Millisecond}
}

func TestCycleReportsEveryFigure(t *testing.T) {
	t.Parallel()
	r, err := bench.Cycle(t.Context(), bench.Options{Dir: t.TempDir(), Partitions: 2}, tiny())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Cycle []map[string]any `json:"cycle"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Cycle) != 2 {
		t.Fatalf("%d rows, not 2: %s", len(got.Cycle), data)
	}
	for _, row := range got.Cycle {
		for _, name := range []string{"in_flight", "p50_us", "p99_us", "per_s", "floor_p50_us", "floor_p99_us", "floor_per_s", "partitions"} {
			if v, ok := row[name].(float64); !ok || v <= 0 {
				t.Errorf("%s is %v: %s", name, row[name], data)
			}
		}
		if row["sync"] != "always" {
			t.Errorf("sync is %v", row["sync"])
		}
	}
	var table bytes.Buffer
	if err := r.Write(&table); err != nil || !bytes.Contains(table.Bytes(), []byte("floor p50")) {
		t.Errorf("%v, table:\n%s", err, &table)
	}
}

func TestNoisyAndVisibleRun(t *testing.T) {
	t.Parallel()
	bed, err := bench.Embedded(t.Context(), bench.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bed.Close)
	v, err := bed.Visible(t.Context(), 3, "")
	if err != nil || v.Screen.N == 0 || v.Note == "" {
		t.Errorf("%+v, %v", v, err)
	}
	n, err := bed.Noisy(t.Context(), tiny())
	if err != nil || n.Quiet.N == 0 || n.Beside.N == 0 || n.Noise <= 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestRatiosCompareNeighbouringRounds(t *testing.T) {
	t.Parallel()
	ours := bench.Rounds{{PerSec: 50}, {PerSec: 100}, {PerSec: 10}}
	floor := bench.Rounds{{PerSec: 100}, {PerSec: 200}, {PerSec: 10}}
	rate := func(s bench.Sample) float64 { return s.PerSec }
	if got := ours.Ratio(floor, rate); got != (bench.Figure{Median: 0.5, Least: 0.5, Most: 1}) {
		t.Errorf("got %+v", got)
	}
	if got := ours.Of(rate); got.Median != 50 || got.Least != 10 || got.Most != 100 {
		t.Errorf("got %+v", got)
	}
}
