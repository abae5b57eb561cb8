package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Times summarizes durations.
type Times struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`
	Max float64 `json:"max_us"`
}

func timesOf(all []time.Duration) Times {
	slices.Sort(all)
	t := Times{N: len(all), P50: micros(percentile(all, 50)), P99: micros(percentile(all, 99))}
	if len(all) > 0 {
		t.Max = micros(all[len(all)-1])
	}
	return t
}

func micros(d time.Duration) float64 { return float64(d.Microseconds()) }

// String implements fmt.Stringer.
func (t Times) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, most %s, of %d", ms(&t.P50), ms(&t.P99), ms(&t.Max), t.N)
}

// lines prints names and values.
func lines(out io.Writer, pairs ...any) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(w, "%v\t%v\n", pairs[i], pairs[i+1])
	}
	return w.Flush()
}
