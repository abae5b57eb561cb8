package natstest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// Uses is how often a leak test uses its subject: two thousand times, but fewer under the race detector.
const Uses = 2000 / waittest.Fewer

// Tolerances for what remains although nothing leaks. A leak of two thousand
// uses exceeds them by far.
const (
	spareGoroutines    = 20      // idle HTTP connections
	spareSubscriptions = 64      // the ledger's readers come and go
	spareHeap          = 3 << 20 // watches remember ended asks for a minute, 0.5 KiB each; plus sampling noise
)

// The heap profile is a sample of one in so many bytes: with the usual 512 KiB,
// a few large samples hide what a leak test looks for.
var _ = func() int { // once, before anything is allocated
	runtime.MemProfileRate = 16 << 10
	return runtime.MemProfileRate
}()

// Leak is what a leak test measures before and after.
type Leak struct {
	Goroutines    int   // except the server's and the broker's, which run in the same process
	Subscriptions int   // held by the server, of all connections
	Heap          int64 // live, in bytes; except what the server and the broker allocated

	places map[string]int64 // of the heap, by allocation site
}

// UnavailableError is the error of a use that an overloaded bus refused, as with
// status 503.
type UnavailableError struct {
	After time.Duration // when to try again
	Err   error
}

// Error says what was refused.
func (e *UnavailableError) Error() string { return e.Err.Error() }

// LeavesNothing uses something many times, partly concurrently, and fails the
// test unless goroutines, subscriptions and heap return to where they were. It
// warms up with a few uses. The uses are numbered from 0; one that fails with
// [*UnavailableError] is repeated, as clients do. Goroutines and heap are those
// of the whole process, so it panics in a test that has called t.Parallel.
func (b *Bus) LeavesNothing(t *testing.T, use func(i int) error) {
	t.Helper()
	t.Setenv("LEAK_TEST", t.Name()) // panics in a parallel test
	const warm = Uses / 10
	b.use(t, Uses, Uses+warm, use)
	before := b.leak()
	began := time.Now()
	b.use(t, 0, Uses, use)
	took := time.Since(began)
	var after Leak
	for end := time.Now().Add(waittest.Limit); ; {
		after = b.leak()
		if after.Goroutines <= before.Goroutines+spareGoroutines && after.Subscriptions <= before.Subscriptions+spareSubscriptions && after.Heap <= before.Heap+spareHeap {
			t.Logf("%d uses in %s; %s, before %s", Uses, took.Round(time.Millisecond), after, before)
			return
		}
		if time.Now().After(end) {
			break
		}
		time.Sleep(50 * time.Millisecond) // the end of a finished goroutine cannot be observed
	}
	t.Errorf("%d uses left %s, before %s", Uses, after, before)
	stacks := Goroutines("")
	t.Logf("some of the goroutines:\n%s", strings.Join(stacks[:min(len(stacks), 10)], "\n\n"))
	t.Logf("what grew most:\n%s", after.grown(before))
}

// use runs the uses from begin to end, a few concurrently.
func (b *Bus) use(t *testing.T, begin, end int, use func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	next := make(chan int)
	for range 32 {
		all.Go(func() {
			for i := range next {
				if err := retry(t, i, use); err != nil {
					t.Errorf("use %d: %v", i, err)
				}
			}
		})
	}
	for i := begin; i < end && !t.Failed(); i++ {
		next <- i
	}
	close(next)
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// retry repeats a use while the bus is overloaded, for at most
// [waittest.Limit].
func retry(t *testing.T, i int, use func(i int) error) error {
	t.Helper()
	for end := time.Now().Add(waittest.Limit); ; {
		err := use(i)
		busy, ok := errors.AsType[*UnavailableError](err)
		if !ok || time.Now().After(end) {
			return err
		}
		t.Logf("use %d is repeated in %s: %v", i, busy.After, err)
		time.Sleep(busy.After) // what the refusal tells clients to wait
	}
}

func (b *Bus) leak() Leak {
	l := Leak{Goroutines: len(Goroutines("")), Subscriptions: b.Subscriptions(), places: heap()}
	for _, size := range l.places {
		l.Heap += size
	}
	return l
}

// grown returns the ten places that grew most.
func (l Leak) grown(before Leak) string {
	by := func(place string) int64 { return l.places[place] - before.places[place] }
	places := slices.SortedFunc(maps.Keys(l.places), func(a, b string) int { return cmp.Compare(by(b), by(a)) })
	var s strings.Builder
	for _, p := range places[:min(len(places), 10)] {
		fmt.Fprintf(&s, "%d KiB: %s\n", by(p)>>10, p)
	}
	return s.String()
}

// Heap returns the live heap of this process, in bytes, except what the server
// and the broker allocated.
func Heap() (size int64) {
	for _, s := range heap() {
		size += s
	}
	return size
}

// heap estimates the live heap from the profile, as pprof does, by place. The
// server caches many MiB of its streams, so what it and the broker allocated is
// left out.
func heap() map[string]int64 {
	runtime.GC() // the profile is that of the collection before the last
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1<<16)
	n, ok := runtime.MemProfile(records, false)
	if !ok {
		panic("natstest: more than 65536 places allocate")
	}
	places := map[string]int64{}
	for _, r := range records[:n] {
		objects, place := r.InUseObjects(), placeOf(r.Stack())
		if objects > 0 && !serves(place) {
			size := float64(r.InUseBytes()) / float64(objects)
			places[place] += int64(float64(r.InUseBytes()) / (1 - math.Exp(-size/float64(runtime.MemProfileRate))))
		}
	}
	return places
}

// placeOf names the call stack, innermost first.
func placeOf(stack []uintptr) string {
	var s strings.Builder
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		fmt.Fprintf(&s, "%s:%d < ", f.Function, f.Line)
		if !more {
			return s.String()
		}
	}
}

// serves reports whether a stack or a function belongs to the server or the
// broker.
func serves(s string) bool {
	return strings.Contains(s, "/nats-server/") || strings.Contains(s, reflect.TypeFor[broker.Broker]().PkgPath()+".") || strings.Contains(s, reflect.TypeFor[ledger.Ledger]().PkgPath()+".")
}

// String formats the figures for people.
func (l Leak) String() string {
	return fmt.Sprintf("%d goroutines, %d subscriptions, %d KiB of heap", l.Goroutines, l.Subscriptions, l.Heap>>10)
}

// Goroutines returns the stacks of this process's goroutines that contain part,
// except those of the server and the broker.
func Goroutines(part string) (stacks []string) {
	buf := make([]byte, 64<<20)
	for one := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(one, part) && !serves(one) {
			stacks = append(stacks, one)
		}
	}
	return stacks
}

// memoryDir returns a directory in memory if there is one: a test of thousands
// of asks need not wait for a disk to sync each of them.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "askbus-test-") //nolint:usetesting // in memory, if there is such a directory
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
