package exposition

import (
	"math"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Vec holds what is counted of each combination of label values. It is safe for concurrent use.
type Vec[T counted] struct {
	desc Desc
	one  func() T

	mu  sync.RWMutex
	all map[string]child[T] // by the values
}

type counted interface{ samples() []sample }

type child[T counted] struct {
	labels string // as text
	of     T
}

func add[T counted](r *Registry, d Desc, one func() T) *Vec[T] {
	v := &Vec[T]{desc: d, one: one, all: map[string]child[T]{}}
	r.Collect(func(s *Scrape) {
		v.mu.RLock()
		defer v.mu.RUnlock()
		for _, c := range v.all {
			s.add(&v.desc, c.labels, c.of.samples()...)
		}
	})
	return v
}

// With returns what is counted with these values of the labels, which are reported from now on.
func (v *Vec[T]) With(values ...string) T {
	var room [96]byte
	key := room[:0]
	for _, value := range values {
		key = append(append(key, value...), 0xff) // which is in no UTF-8
	}
	v.mu.RLock()
	c, ok := v.all[string(key)]
	v.mu.RUnlock()
	if ok {
		return c.of
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok = v.all[string(key)]; !ok {
		c = child[T]{v.desc.text(values), v.one()}
		v.all[string(key)] = c
	}
	return c.of
}

// Reset forgets all values.
func (v *Vec[T]) Reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.all)
}

// Counter is a number that grows.
type Counter struct{ n atomic.Int64 }

// Counters adds counters. The name ends with _total.
func (r *Registry) Counters(name, help string, labels ...string) *Vec[*Counter] {
	if !strings.HasSuffix(name, "_total") {
		panic(name + ": the name of a counter ends with _total")
	}
	return add(r, Desc{Name: name, Help: help, Labels: labels}, func() *Counter { return &Counter{} })
}

// Inc adds 1.
func (c *Counter) Inc() { c.n.Add(1) }

// Add adds n, which is not negative.
func (c *Counter) Add(n int64) { c.n.Add(n) }

func (c *Counter) samples() []sample { return []sample{{value: float64(c.n.Load())}} }

// Gauge is a number that changes.
type Gauge struct{ bits atomic.Uint64 }

// Gauges adds gauges.
func (r *Registry) Gauges(name, help string, labels ...string) *Vec[*Gauge] {
	return add(r, Desc{Name: name, Help: help, Labels: labels}, func() *Gauge { return &Gauge{} })
}

// Set replaces the number.
func (g *Gauge) Set(v float64) { g.bits.Store(math.Float64bits(v)) }

// Add adds to the number.
func (g *Gauge) Add(v float64) {
	for {
		old := g.bits.Load()
		if g.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

func (g *Gauge) samples() []sample { return []sample{{value: math.Float64frombits(g.bits.Load())}} }

// Histogram counts observations in buckets.
type Histogram struct {
	bounds []float64

	mu      sync.Mutex // for some nanoseconds: sum and counts belong together
	buckets []bucket   // the last has no bound
	sum     float64
}

type bucket struct {
	n    int64
	last *exemplar
}

// Histograms adds histograms. A bucket has what is not above its bound and above the one before.
func (r *Registry) Histograms(name, help string, bounds []float64, labels ...string) *Vec[*Histogram] {
	return add(r, Desc{Name: name, Help: help, Labels: labels, kind: "histogram"}, func() *Histogram {
		return &Histogram{bounds: bounds, buckets: make([]bucket, len(bounds)+1)}
	})
}

// Observe counts a value. Its trace, if it has one, is the exemplar of its bucket until the next.
func (h *Histogram) Observe(v float64, trace string) {
	var e *exemplar
	if trace != "" {
		e = &exemplar{trace, v, float64(time.Now().UnixMicro()) / 1e6}
	}
	b := &h.buckets[sort.SearchFloat64s(h.bounds, v)]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sum += v
	b.n++
	if e != nil {
		b.last = e
	}
}

func (h *Histogram) samples() []sample {
	all := make([]sample, 0, len(h.buckets)+2)
	h.mu.Lock()
	defer h.mu.Unlock()
	n, most := int64(0), math.Inf(1)
	for i, b := range h.buckets {
		bound := &most
		if i < len(h.bounds) {
			bound = &h.bounds[i]
		}
		n += b.n
		all = append(all, sample{suffix: "_bucket", bound: bound, value: float64(n), count: true, exemplar: b.last})
	}
	return append(all, sample{suffix: "_sum", value: h.sum}, sample{suffix: "_count", value: float64(n), count: true})
}
