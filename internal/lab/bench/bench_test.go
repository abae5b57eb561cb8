package bench_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
)

// BenchmarkCycle measures the ask cycle, embedded with sync always, and its floor. cpu-us/op is the
// processor time of all parts, which other load on the machine does not affect.
func BenchmarkCycle(b *testing.B) {
	bed, err := bench.Embedded(b.Context(), bench.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(bed.Close)
	systems, err := bed.Systems(b.Context(), 64)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range systems {
		b.Run(s.Name+"/in-flight=1", func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				if err := s.Cycle(b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.Name+"/in-flight=64", func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
			var slots atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				slot := int(slots.Add(1))
				for pb.Next() {
					if err := s.Cycle(b.Context(), slot); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// reportCPU reports the processor time of this process until the returned function is called.
func reportCPU(b *testing.B) func() {
	b.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := used()
	return func() { b.ReportMetric(float64((used()-began).Microseconds())/float64(b.N), "cpu-us/op") }
}
