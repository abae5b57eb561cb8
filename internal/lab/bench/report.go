package bench

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// Report is the output of "askbus-lab bench". Lists that were not measured are omitted.
type Report struct {
	Machine Machine    `json:"machine"`
	Quick   bool       `json:"quick,omitempty"`
	Cycle   []CycleRow `json:"cycle"`
	Floor   string     `json:"floor"` // what the floor is, or why it is left out
}

// Names of the floors in the report.
const floorIs = "raw NATS: the same two durable writes, headers and deliveries, in the same run, alternating"

// NewReport makes the report of a bed's cycles.
func (b *Bed) NewReport(rows []CycleRow) Report {
	r := Report{Machine: ThisMachine(), Cycle: rows, Floor: floorIs}
	if b.NoFloor != "" {
		r.Floor = "left out: " + b.NoFloor
	}
	return r
}

// CycleRow is the ask cycle at one number in flight, with its floor: medians of rounds with minimum
// and maximum. Ratios are medians of the ratios of adjacent rounds, askbus over floor.
type CycleRow struct {
	InFlight    int      `json:"in_flight"`
	Partitions  int      `json:"partitions"` // 0: not known
	Replicas    int      `json:"replicas"`   // 0: not known
	Sync        string   `json:"sync"`
	Rounds      int      `json:"rounds"`
	P50         float64  `json:"p50_us"`
	P99         float64  `json:"p99_us"`
	PerSec      float64  `json:"per_s"`
	FloorP50    *float64 `json:"floor_p50_us,omitempty"`
	FloorP99    *float64 `json:"floor_p99_us,omitempty"`
	FloorPerSec *float64 `json:"floor_per_s,omitempty"`
	P50Ratio    *float64 `json:"p50_ratio,omitempty"`
	P99Ratio    *float64 `json:"p99_ratio,omitempty"`
	PerSecRatio *float64 `json:"per_s_ratio,omitempty"`
	CPU         float64  `json:"cpu_us,omitempty"` // of a cycle; embedded, so everybody's
	FloorCPU    float64  `json:"floor_cpu_us,omitempty"`
	P50Spread   Spread   `json:"p50_us_spread"`
	P99Spread   Spread   `json:"p99_us_spread"`
	RateSpread  Spread   `json:"per_s_spread"`
}

// Spread is the minimum and maximum of the rounds.
type Spread [2]float64

func (f Figure) spread() Spread { return Spread{round(f.Least), round(f.Most)} }

func round(v float64) float64 { return float64(int64(v + 0.5)) }

func (b *Bed) row(inFlight int, rounds map[string]Rounds) CycleRow {
	ours, floor := rounds[NameAskbus], rounds[NameFloor]
	r := CycleRow{
		InFlight: inFlight, Partitions: b.Partitions, Replicas: b.Replicas, Sync: b.Sync, Rounds: len(ours),
		P50: round(ours.Of(p50).Median), P99: round(ours.Of(p99).Median), PerSec: round(ours.Of(perSec).Median),
		P50Spread: ours.Of(p50).spread(), P99Spread: ours.Of(p99).spread(), RateSpread: ours.Of(perSec).spread(),
	}
	if b.embedded {
		r.CPU, r.FloorCPU = round(ours.Of(cpu).Median), round(floor.Of(cpu).Median)
	}
	if len(floor) > 0 {
		r.FloorP50, r.FloorP99, r.FloorPerSec = new(round(floor.Of(p50).Median)), new(round(floor.Of(p99).Median)), new(round(floor.Of(perSec).Median))
		r.P50Ratio, r.P99Ratio, r.PerSecRatio = new(hundredths(ours.Ratio(floor, p50).Median)), new(hundredths(ours.Ratio(floor, p99).Median)), new(hundredths(ours.Ratio(floor, perSec).Median))
	}
	return r
}

func hundredths(v float64) float64 { return round(v*100) / 100 }

// Write prints the report.
func (r Report) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", r.Machine)
	WriteCycle(out, r.Cycle)
	fmt.Fprintf(out, "\nfloor: %s\n", r.Floor)
	return nil
}

// WriteCycle prints rows as a table.
func WriteCycle(out io.Writer, rows []CycleRow) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	defer w.Flush() //nolint:errcheck // output for people
	fmt.Fprintln(w, "in flight\tpartitions\tp50\tp99\tcycles/s\tfloor p50\tfloor p99\tfloor cycles/s\tp50 ×\tp99 ×\trate ×\tCPU\tfloor CPU\tspread of p50\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s–%s\t\n", r.InFlight, known(r.Partitions, strconv.Itoa(r.Partitions)), ms(&r.P50), ms(&r.P99), r.PerSec,
			ms(r.FloorP50), ms(r.FloorP99), number(r.FloorPerSec, "%.0f"), number(r.P50Ratio, "%.2f"), number(r.P99Ratio, "%.2f"), number(r.PerSecRatio, "%.2f"),
			known(r.CPU, ms(&r.CPU)), known(r.FloorCPU, ms(&r.FloorCPU)), ms(&r.P50Spread[0]), ms(&r.P50Spread[1]))
	}
}

// known returns text, or a mark if v was not measured.
func known[T int | float64](v T, text string) string {
	if v == 0 {
		return "-"
	}
	return text
}

// ms formats microseconds as milliseconds.
func ms(us *float64) string {
	if us == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", *us/1000)
}

func number(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}
