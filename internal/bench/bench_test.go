package bench_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/askbus/askbus/internal/bench"
)

// BenchmarkCycle is the ask cycle, embedded and with sync always, and its floor.
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
			for b.Loop() {
				if err := s.Cycle(b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.Name+"/in-flight=64", func(b *testing.B) {
			b.ReportAllocs()
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
