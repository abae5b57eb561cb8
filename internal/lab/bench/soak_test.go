package bench_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
)

// soaked returns n samples; at sets the figures of the i-th.
func soaked(n int, at func(i int) (rss, heap int64)) []bench.SoakSample {
	samples := make([]bench.SoakSample, n)
	for i := range samples {
		rss, heap := at(i)
		samples[i] = bench.SoakSample{At: time.Duration(i+1) * 10 * time.Second, RSS: rss, Heap: heap, Goroutines: 100, Disk: 1 << 20}
	}
	return samples
}

func TestSoakComparesTheLastFifthWithTheSecond(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		samples []bench.SoakSample
		want    string
	}{
		"nothing changes":          {soaked(50, func(int) (int64, int64) { return 100, 50 }), bench.SoakFlat},
		"warm-up does not count":   {soaked(50, func(i int) (int64, int64) { return 100 - int64(max(0, 10-i)), 50 - int64(max(0, 10-i)) }), bench.SoakFlat},
		"a tenth more is flat":     {soaked(50, func(i int) (int64, int64) { return 100 + int64(i/40*10), 50 }), bench.SoakFlat},
		"resident memory grows":    {soaked(50, func(i int) (int64, int64) { return 100 + int64(i), 50 }), bench.SoakGrows},
		"the live heap grows":      {soaked(50, func(i int) (int64, int64) { return 100, 50 + int64(i) }), bench.SoakGrows},
		"one peak is no growth":    {soaked(50, func(i int) (int64, int64) { return 100 + int64(i/49*1000), 50 }), bench.SoakFlat},
		"less at the end is flat":  {soaked(50, func(i int) (int64, int64) { return 100 - int64(i), 50 }), bench.SoakFlat},
		"five samples are enough":  {soaked(5, func(int) (int64, int64) { return 100, 50 }), bench.SoakFlat},
		"four samples are too few": {soaked(4, func(int) (int64, int64) { return 100, 50 }), bench.SoakShort},
		"no samples are too few":   {nil, bench.SoakShort},
		"13 samples":               {soaked(13, func(i int) (int64, int64) { return 100 + int64(i*20), 50 }), bench.SoakGrows},
		"unknown resident memory":  {soaked(50, func(int) (int64, int64) { return 0, 50 }), bench.SoakFlat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := bench.Soak{}.Judge(c.samples)
			if s.Verdict != c.want || len(s.Tenths) != min(10, len(c.samples)) {
				t.Errorf("%q, not %q; %+v", s.Verdict, c.want, s)
			}
			if err := s.Write(new(bytes.Buffer)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSoakPrintsMediansOfTenthsAndTheRule(t *testing.T) {
	t.Parallel()
	s := bench.Soak{Failures: 1, FirstError: "no answer\nin time", Rule: "the rule"}.Judge(soaked(100, func(i int) (int64, int64) { return int64(i) << 20, 50 << 20 }))
	if got := s.Tenths[9]; got.RSS != 94.5*(1<<20) || got.Heap != 50<<20 || got.From != 910 {
		t.Errorf("%+v", got)
	}
	if s.RSS.Second != 29.5*(1<<20) || s.RSS.Last != 89.5*(1<<20) {
		t.Errorf("%+v", s.RSS)
	}
	var text bytes.Buffer
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"15m10s", "94.5 MiB", "× 3.034", "no answer; in time", "grows", "the rule"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &text)
		}
	}
}
