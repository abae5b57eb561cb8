package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Soak is the memory of "askbus up" during a long run of cycles.
type Soak struct {
	Machine    Machine    `json:"machine"`
	Planned    float64    `json:"planned_s"`
	Seconds    float64    `json:"seconds"`
	Rate       float64    `json:"rate_per_s"` // wanted
	PerSec     float64    `json:"per_s"`
	Cycles     SoakCycles `json:"cycles"`
	Repeats    int        `json:"repeats"` // requests over HTTP that were repeated because the bus was away
	Failures   int        `json:"failures"`
	FirstError string     `json:"first_error,omitempty"`
	Samples    int        `json:"samples"`
	Tenths     []SoakPart `json:"tenths"`
	RSS        Drift      `json:"rss"`
	Heap       Drift      `json:"heap"`
	Goroutines Drift      `json:"goroutines"`
	Disk       Drift      `json:"disk"`
	Verdict    string     `json:"verdict"` // [SoakFlat], [SoakGrows] or [SoakShort]
	Rule       string     `json:"rule"`
	Note       string     `json:"note,omitempty"`
}

// The verdicts.
const (
	SoakFlat  = "flat"
	SoakGrows = "grows"
	SoakShort = "too short to tell"
)

const (
	flatUntil = 1.1
	soakRule  = "flat: in the last fifth of the run the medians of the resident memory, of the live heap and of the goroutines are each at most 1.1 times that in the second fifth; the first is warm-up"
)

// SoakCycles counts the cycles by how asks ended, and the lists.
type SoakCycles struct {
	Answered  int `json:"answered"`
	Withdrawn int `json:"withdrawn"`
	Expired   int `json:"expired"`
	Listed    int `json:"listed"`
	Endpoints int `json:"endpoints"` // answered; asked over HTTP, WebSocket and MCP
}

func (c SoakCycles) all() int { return c.Answered + c.Withdrawn + c.Expired + c.Listed + c.Endpoints }

// SoakSample is a sample of the process.
type SoakSample struct {
	At         time.Duration
	RSS        int64
	Heap       int64 // after a collection
	Goroutines int64
	Disk       int64
}

// SoakPart has the medians of a part of the run.
type SoakPart struct {
	From       float64 `json:"from_s"` // its first sample
	RSS        float64 `json:"rss_bytes"`
	Heap       float64 `json:"heap_bytes"`
	Goroutines float64 `json:"goroutines"`
	Disk       float64 `json:"disk_bytes"`
}

// Drift compares the median of the last fifth with that of the second.
type Drift struct {
	Second float64 `json:"second_fifth"`
	Last   float64 `json:"last_fifth"`
	Ratio  float64 `json:"ratio"`
}

func (d Drift) flat() bool { return d.Ratio <= flatUntil }

// Judge summarizes the samples, which are in chronological order.
func (s Soak) Judge(samples []SoakSample) Soak {
	s.Samples, s.Tenths = len(samples), nil
	for _, part := range parts(samples, min(10, len(samples))) {
		s.Tenths = append(s.Tenths, partOf(part))
	}
	s.Verdict = SoakShort
	if len(samples) < 5 {
		return s
	}
	fifths := parts(samples, 5)
	second, last := partOf(fifths[1]), partOf(fifths[4])
	s.RSS, s.Heap = drift(second.RSS, last.RSS), drift(second.Heap, last.Heap)
	s.Goroutines, s.Disk = drift(second.Goroutines, last.Goroutines), drift(second.Disk, last.Disk)
	if s.Verdict = SoakGrows; s.RSS.flat() && s.Heap.flat() && s.Goroutines.flat() {
		s.Verdict = SoakFlat
	}
	return s
}

// parts splits samples into n parts whose sizes differ by at most one.
func parts(samples []SoakSample, n int) [][]SoakSample {
	cut := make([][]SoakSample, n)
	for i := range n {
		cut[i] = samples[len(samples)*i/n : len(samples)*(i+1)/n]
	}
	return cut
}

func partOf(samples []SoakSample) SoakPart {
	median := func(value func(SoakSample) int64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = float64(value(s))
		}
		return figure(values).Median
	}
	return SoakPart{
		From:       samples[0].At.Seconds(),
		RSS:        median(func(s SoakSample) int64 { return s.RSS }),
		Heap:       median(func(s SoakSample) int64 { return s.Heap }),
		Goroutines: median(func(s SoakSample) int64 { return s.Goroutines }),
		Disk:       median(func(s SoakSample) int64 { return s.Disk }),
	}
}

// drift does not round: 1.104 is more than 1.1.
func drift(second, last float64) Drift {
	d := Drift{Second: second, Last: last}
	if second > 0 {
		d.Ratio = last / second
	}
	return d
}

// Write prints the report.
func (s Soak) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", s.Machine)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "from\tresident\tlive heap\tgoroutines\tdisk\t")
	for _, p := range s.Tenths {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.0f\t%s\t\n", time.Duration(p.From*float64(time.Second)).Round(time.Second), mib(int64(p.RSS)), mib(int64(p.Heap)), p.Goroutines, mib(int64(p.Disk)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	size := func(d Drift) string {
		return fmt.Sprintf("× %.3f (%s, then %s)", d.Ratio, mib(int64(d.Second)), mib(int64(d.Last)))
	}
	pairs := []any{
		"ran for", fmt.Sprintf("%.0f s of %.0f s, %d samples", s.Seconds, s.Planned, s.Samples),
		"cycles", fmt.Sprintf("%d: %d answered, %d withdrawn, %d expired, %d lists, %d over HTTP", s.Cycles.all(), s.Cycles.Answered, s.Cycles.Withdrawn, s.Cycles.Expired, s.Cycles.Listed, s.Cycles.Endpoints),
		"per second", fmt.Sprintf("%.1f (wanted: %g)", s.PerSec, s.Rate), "failures", s.Failures, "repeated over HTTP", s.Repeats,
	}
	if s.FirstError != "" {
		pairs = append(pairs, "first error", strings.ReplaceAll(s.FirstError, "\n", "; "))
	}
	if s.Verdict != SoakShort {
		pairs = append(pairs, "resident memory", size(s.RSS), "live heap", size(s.Heap),
			"goroutines", fmt.Sprintf("× %.3f (%.0f, then %.0f)", s.Goroutines.Ratio, s.Goroutines.Second, s.Goroutines.Last), "disk", size(s.Disk))
	}
	pairs = append(pairs, "verdict", s.Verdict, "rule", s.Rule)
	if s.Note != "" {
		pairs = append(pairs, "note", s.Note)
	}
	return lines(out, pairs...)
}
