package metrics

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/process/metrics/exposition"
)

// started is when this process did, within some milliseconds.
var started = time.Now() //nolint:gochecknoglobals // of the process

// process reports the Go runtime and the process by the names that dashboards know from client_golang.
func process(to *exposition.Scrape) {
	collections := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&collections)
	quantiles := make([]float64, len(collections.PauseQuantiles))
	for i, q := range collections.PauseQuantiles {
		quantiles[i] = q.Seconds()
	}
	to.Summary(&exposition.Desc{Name: "go_gc_duration_seconds", Help: "A summary of the wall-time pause (stop-the-world) duration in garbage collection cycles."}, quantiles, collections.PauseTotal.Seconds(), collections.NumGC)
	to.Number(&exposition.Desc{Name: "go_info", Help: "Information about the Go environment.", Labels: []string{"version"}}, 1, runtime.Version())
	threads, _ := runtime.ThreadCreateProfile(nil)
	report(to,
		figure{"go_goroutines", "Number of goroutines that currently exist.", float64(runtime.NumGoroutine())},
		figure{"go_memstats_last_gc_time_seconds", "Number of seconds since 1970 of last garbage collection.", seconds(collections.LastGC)},
		figure{"go_threads", "Number of OS threads created.", float64(threads)},
		figure{"process_start_time_seconds", "Start time of the process since unix epoch in seconds.", seconds(started)},
	)
	report(to, memory()...)
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		report(to, figure{"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9})
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		report(to, figure{"process_max_fds", "Maximum number of open file descriptors.", float64(limit.Cur)})
	}
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) == nil {
		report(to, figure{"process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.", float64(limit.Cur)})
	}
	if n, err := openFiles(); err == nil {
		report(to, figure{"process_open_fds", "Number of open file descriptors.", float64(n)})
	}
	var virtual, resident float64                                 // pages
	if data, err := os.ReadFile("/proc/self/statm"); err == nil { // Linux
		if _, err := fmt.Sscan(string(data), &virtual, &resident); err == nil {
			page := float64(os.Getpagesize())
			report(to,
				figure{"process_virtual_memory_bytes", "Virtual memory size in bytes.", virtual * page},
				figure{"process_resident_memory_bytes", "Resident memory size in bytes.", resident * page})
		}
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }

// openFiles counts the file descriptors. The directory itself is one while it is read.
func openFiles() (int, error) {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return 0, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(0) // ReadDir would ask for each one's type
	return len(names) - 1, err
}

// runtimeFigures are sums of figures of [runtime/metrics].
var runtimeFigures = []struct { //nolint:gochecknoglobals // a table
	name, help string
	sum        []string
}{
	{"go_gc_gogc_percent", "Heap size target percentage configured by the user, otherwise 100. This value is set by the GOGC environment variable, and the runtime/debug.SetGCPercent function.", []string{"/gc/gogc:percent"}},
	{"go_gc_gomemlimit_bytes", "Go runtime memory limit configured by the user, otherwise math.MaxInt64. This value is set by the GOMEMLIMIT environment variable, and the runtime/debug.SetMemoryLimit function.", []string{"/gc/gomemlimit:bytes"}},
	{"go_memstats_alloc_bytes", "Number of bytes allocated in heap and currently in use.", []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", "Total number of bytes allocated in heap until now, even if released already.", []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_buck_hash_sys_bytes", "Number of bytes used by the profiling bucket hash table.", []string{"/memory/classes/profiling/buckets:bytes"}},
	{"go_memstats_frees_total", "Total number of heap objects frees.", []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_gc_sys_bytes", "Number of bytes used for garbage collection system metadata.", []string{"/memory/classes/metadata/other:bytes"}},
	{"go_memstats_heap_alloc_bytes", "Number of heap bytes allocated and currently in use, same as go_memstats_alloc_bytes.", []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_heap_idle_bytes", "Number of heap bytes waiting to be used.", []string{"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_heap_inuse_bytes", "Number of heap bytes that are in use.", []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_heap_objects", "Number of currently allocated objects.", []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_released_bytes", "Number of heap bytes released to OS.", []string{"/memory/classes/heap/released:bytes"}},
	{"go_memstats_heap_sys_bytes", "Number of heap bytes obtained from system.", []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_mallocs_total", "Total number of heap objects allocated, both live and gc-ed. Semantically a counter version for go_memstats_heap_objects gauge.", []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_mcache_inuse_bytes", "Number of bytes in use by mcache structures.", []string{"/memory/classes/metadata/mcache/inuse:bytes"}},
	{"go_memstats_mcache_sys_bytes", "Number of bytes used for mcache structures obtained from system.", []string{"/memory/classes/metadata/mcache/inuse:bytes", "/memory/classes/metadata/mcache/free:bytes"}},
	{"go_memstats_mspan_inuse_bytes", "Number of bytes in use by mspan structures.", []string{"/memory/classes/metadata/mspan/inuse:bytes"}},
	{"go_memstats_mspan_sys_bytes", "Number of bytes used for mspan structures obtained from system.", []string{"/memory/classes/metadata/mspan/inuse:bytes", "/memory/classes/metadata/mspan/free:bytes"}},
	{"go_memstats_next_gc_bytes", "Number of heap bytes when next garbage collection will take place.", []string{"/gc/heap/goal:bytes"}},
	{"go_memstats_other_sys_bytes", "Number of bytes used for other system allocations.", []string{"/memory/classes/other:bytes"}},
	{"go_memstats_stack_inuse_bytes", "Number of bytes obtained from system for stack allocator in non-CGO environments.", []string{"/memory/classes/heap/stacks:bytes"}},
	{"go_memstats_stack_sys_bytes", "Number of bytes obtained from system for stack allocator.", []string{"/memory/classes/heap/stacks:bytes", "/memory/classes/os-stacks:bytes"}},
	{"go_memstats_sys_bytes", "Number of bytes obtained from system.", []string{"/memory/classes/total:bytes"}},
	{"go_sched_gomaxprocs_threads", "The current runtime.GOMAXPROCS setting, or the number of operating system threads that can execute user-level Go code simultaneously.", []string{"/sched/gomaxprocs:threads"}},
}

// memory reads the figures of the runtime, all at once.
func memory() []figure {
	var samples []metrics.Sample
	for _, of := range runtimeFigures {
		for _, name := range of.sum {
			samples = append(samples, metrics.Sample{Name: name})
		}
	}
	metrics.Read(samples)
	all := make([]figure, len(runtimeFigures))
	for i, of := range runtimeFigures {
		all[i] = figure{of.name, of.help + " Equals to " + strings.Join(of.sum, " + ") + ".", 0}
		for _, one := range samples[:len(of.sum)] {
			all[i].value += float64(one.Value.Uint64())
		}
		samples = samples[len(of.sum):]
	}
	return all
}
