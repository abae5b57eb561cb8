package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
)

// Idle is the cost of an idle "askbus up".
type Idle struct {
	Machine Machine `json:"machine"`
	Seconds float64 `json:"seconds"`
	RSS     int64   `json:"rss_bytes"`
	Heap    int64   `json:"heap_bytes"`
	Core    float64 `json:"core_percent"`
	Start   float64 `json:"start_us"` // from exec to ready
}

// Write prints the report.
func (i Idle) Write(out io.Writer) error {
	return lines(out, "machine", i.Machine, "ready after", ms(&i.Start), "resident memory", mib(i.RSS), "of it live heap", mib(i.Heap),
		"processor", fmt.Sprintf("%.2f %% of a core over %.0f s", i.Core, i.Seconds))
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// upArgs returns arguments with free ports.
func upArgs() []string {
	return []string{"up", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--no-open", "--max-store", "64GiB"}
}

// MeasureIdle starts "askbus up" and observes it for a while.
func MeasureIdle(ctx context.Context, program Program, dir string, d time.Duration) (Idle, error) {
	dir, err := os.MkdirTemp(dir, "askbus-bench-")
	if err != nil {
		return Idle{}, fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	began := time.Now()
	p, err := startProcess(ctx, program, dir, "up", upArgs()...)
	if err != nil {
		return Idle{}, err
	}
	defer p.kill()
	i := Idle{Machine: ThisMachine(), Start: micros(time.Since(began))}
	if err := backoff.Sleep(ctx, min(d, 3*time.Second)); err != nil { // the start is not idle
		return i, err
	}
	from, used := time.Now(), p.cpu()
	if err := backoff.Sleep(ctx, d); err != nil {
		return i, err
	}
	i.Seconds = time.Since(from).Seconds()
	i.Core = 100 * (p.cpu() - used).Seconds() / i.Seconds
	i.RSS = p.rss()
	i.Heap, err = p.heap(ctx)
	return i, err
}
