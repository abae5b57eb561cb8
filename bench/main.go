package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

// contender is an alternative to askbus.
type contender struct {
	name    string
	durable string // what is durable before it acknowledges
	start   func(ctx context.Context, dir string) (system, error)
}

type system interface {
	bench.System
	Close()
}

func contenders() []contender {
	return []contender{
		{"postgres", "a row, by the write-ahead log, synced on commit (Debian's defaults)", startPostgres},
		{"restate", "a journal entry in its log, by its defaults on one node", startRestate},
		{"temporal", "its history in SQLite, each commit synced (WAL, synchronous full): its store for development, not for production", startTemporal},
		{"node-map", "nothing", startNode},
	}
}

// row is one contender at one number in flight.
type row struct {
	Name     string  `json:"name"`
	Durable  string  `json:"durable"`
	InFlight int     `json:"in_flight"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	PerSec   float64 `json:"per_s"`
	Ratio    float64 `json:"askbus_per_s_ratio"` // askbus's cycles over these, round by round
}

type result struct {
	Machine bench.Machine     `json:"machine"`
	Rows    []row             `json:"rows"`
	Without map[string]string `json:"without,omitempty"` // contenders that could not be started, and why
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	inFlight := flags.String("in-flight", "1,64", "numbers of cycles at the same time, separated by commas")
	rounds := flags.Int("rounds", 5, "rounds of each contender")
	round := flags.Duration("round", 3*time.Second, "duration of a round")
	only := flags.String("only", "", "contenders, separated by commas; default all")
	output := flags.String("output", "text", "text or json")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plan := bench.Plan{Rounds: *rounds, Round: *round}
	for s := range strings.SplitSeq(*inFlight, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("--in-flight is %q; give numbers such as 1,64", *inFlight)
		}
		plan.InFlight = append(plan.InFlight, n)
	}
	r, err := measure(ctx, plan, *only)
	if err != nil {
		return err
	}
	if *output == "json" {
		return json.NewEncoder(out).Encode(r)
	}
	return r.write(out)
}

func measure(ctx context.Context, plan bench.Plan, only string) (result, error) {
	dir, err := os.MkdirTemp("", "askbus-bench-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)                      //nolint:errcheck // temporary
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // Postgres does not run as root
		return result{}, err
	}
	bed, err := bench.Embedded(ctx, bench.Options{Dir: dir})
	if err != nil {
		return result{}, err
	}
	defer bed.Close()
	systems, err := bed.Systems(ctx, 64)
	if err != nil {
		return result{}, err
	}
	r := result{Machine: bench.ThisMachine(), Without: map[string]string{}}
	durable := map[string]string{
		bench.NameAskbus: "question and outcome, each synced (sync always)", bench.NameFloor: "the same two messages, each synced",
	}
	for _, c := range contenders() {
		if only != "" && !strings.Contains(","+only+",", ","+c.name+",") {
			continue
		}
		s, err := c.start(ctx, dir)
		if err != nil {
			r.Without[c.name] = err.Error()
			continue
		}
		defer s.Close()
		durable[c.name] = c.durable
		systems = append(systems, bench.Named{Name: c.name, System: s})
	}
	for _, n := range plan.InFlight {
		rounds, err := bench.Alternate(ctx, systems, n, plan)
		if err != nil {
			return r, err
		}
		for _, s := range systems {
			r.Rows = append(r.Rows, sum(s.Name, durable[s.Name], n, rounds[s.Name], rounds[bench.NameAskbus]))
		}
	}
	return r, nil
}

func sum(name, durable string, inFlight int, rounds, askbus bench.Rounds) row {
	us := func(d time.Duration) float64 { return float64(d.Microseconds()) }
	rate := func(s bench.Sample) float64 { return s.PerSec }
	return row{
		Name: name, Durable: durable, InFlight: inFlight,
		P50:    rounds.Of(func(s bench.Sample) float64 { return us(s.P50) }).Median,
		P99:    rounds.Of(func(s bench.Sample) float64 { return us(s.P99) }).Median,
		PerSec: rounds.Of(rate).Median, Ratio: askbus.Ratio(rounds, rate).Median,
	}
}

func (r result) write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", r.Machine)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "in flight\tsystem\tp50\tp99\tcycles/s\taskbus ×\tdurable before it acknowledges")
	for _, x := range r.Rows {
		fmt.Fprintf(w, "%d\t%s\t%.2f ms\t%.2f ms\t%.0f\t%.2f\t%s\n", x.InFlight, x.Name, x.P50/1000, x.P99/1000, x.PerSec, x.Ratio, x.Durable)
	}
	for name, why := range r.Without {
		fmt.Fprintf(w, "\nwithout %s: %s\n", name, why)
	}
	return w.Flush()
}

// errAway reports that a contender's program or files are missing.
var errAway = errors.New("not on this machine")
