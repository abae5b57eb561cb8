package bench_test

import (
	"fmt"
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
	for _, inFlight := range []int{1, 64} {
		for _, s := range systems {
			b.Run(fmt.Sprintf("%s/in-flight=%d", s.Name, inFlight), func(b *testing.B) {
				b.SetParallelism(max(1, inFlight/2)) // of two cores
				b.ReportAllocs()
				slots := make(chan int, 4096)
				for i := range cap(slots) {
					slots <- i
				}
				b.RunParallel(func(pb *testing.PB) {
					slot := <-slots
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
}
