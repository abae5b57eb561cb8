package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
)

func TestBusesShareAServer(t *testing.T) {
	t.Parallel()
	r, err := bench.MeasureBuses(t.Context(), bench.BusesOptions{Shapes: []string{"1x3", "3x2"}, Sessions: 6}, bench.Plan{Rounds: 1, Round: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bench.BusesRow{{Buses: 1, Accounts: 2, Tenants: 3, Sessions: 6, Streams: 6}, {Buses: 3, Accounts: 6, Tenants: 6, Sessions: 6, Streams: 18}} {
		got := r.Rows[i]
		if got.PerSec.Median <= 0 {
			t.Errorf("%+v", got)
		}
		if want.Ready, want.PerSec, want.P50, want.P99, want.CPU = got.Ready, got.PerSec, got.P50, got.P99, got.CPU; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	var said strings.Builder
	if err := r.Write(&said); err != nil || strings.Count(said.String(), "\n") != 5 {
		t.Errorf("%v\n%s", err, said.String())
	}
	for _, shape := range []string{"", "3", "0x1", "1x0", "1x1x1", "ax1"} {
		if _, err := bench.MeasureBuses(t.Context(), bench.BusesOptions{Shapes: []string{shape}}, bench.Plan{}); err == nil {
			t.Errorf("shape %q: no error", shape)
		}
	}
}
