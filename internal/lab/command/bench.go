package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/spf13/cobra"
)

// benchFlags are the flags of all measurements.
type benchFlags struct {
	quick      bool
	inFlight   []int
	rounds     int
	round      time.Duration
	partitions int
	adminCreds string
	cpuProfile string
}

func benchCmd(a *cli.App) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the ask cycle, compared with raw NATS doing the same writes",
		Long: `Measures the ask cycle: an agent asks, a responder sees it and answers, the agent
gets the outcome. The same run alternates with the floor: raw NATS
doing the same two durable writes and the same deliveries. The ratio is the figure
that counts. Figures are medians of rounds, with their spread.

Without --nats-url and --creds it starts everything itself, in a temporary directory that
it removes afterwards. With them it measures that bus, with an operator's credential;
the floor then needs --admin-creds, a credential with full rights. "askbus up" and
"askbus server" issue none; a nats-server of your own may have one. Everybody on that bus
sees the asks come and go; none stays open, and the floor's streams are removed.`,
		Example: `  askbus-lab bench --quick
  askbus auth operator --asserts os=os:bench --output json > operator.json
  askbus-lab bench --nats-url nats://bus:4222 --creds operator.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bed, err := bed(cmd.Context(), a, f)
			if err != nil {
				return err
			}
			defer bed.Close()
			stop, err := profile(f.cpuProfile)
			if err != nil {
				return err
			}
			defer stop()
			rows, err := bed.Cycle(cmd.Context(), plan(a, f))
			if err != nil {
				return err
			}
			r := bed.NewReport(rows)
			r.Quick = f.quick
			return printReport(a, r)
		},
	}
	flags := cmd.PersistentFlags()
	flags.BoolVar(&f.quick, "quick", false, "finish within 40 s")
	flags.IntVar(&f.partitions, "partitions", 0, "partitions of the started ledger (default 4)")
	flags.StringVar(&f.adminCreds, "admin-creds", "", "file with a credential of full rights in the ledger's account of --nats-url, for the floor")
	flags.IntSliceVar(&f.inFlight, "in-flight", nil, "cycles under way at once (default 1,16,64,256)")
	flags.IntVar(&f.rounds, "rounds", 0, "rounds of each (default 5)")
	flags.DurationVar(&f.round, "round", 0, "how long a round is (default 3s)")
	cmd.Flags().StringVar(&f.cpuProfile, "cpu-profile", "", "write a CPU profile of the run to this file")
	cmd.AddCommand(benchMore(a, &f)...)
	return cmd
}

// profile writes a CPU profile to path until stop is called. An empty path writes none.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = out.Close()
	}, nil
}

// bed returns the bus under test: the one that the flags name, or a new one.
func bed(ctx context.Context, a *cli.App, f benchFlags) (*bench.Bed, error) {
	go daemon.EaseHeap(ctx) // as the processes that it measures
	if a.NATS.URL == "" && a.Creds == "" {
		return bench.Embedded(ctx, bench.Options{Partitions: f.partitions, Logger: a.Logger()})
	}
	cred, err := a.Credential()
	if err != nil {
		return nil, err
	}
	if f.adminCreds == "" {
		return bench.Attached(a.Tenant, cred, nil, a.Logger())
	}
	admin, err := ledgerCreds(f.adminCreds)
	if err != nil {
		return nil, err
	}
	admin.URL = cred.URL
	admin = a.Trust(admin)
	return bench.Attached(a.Tenant, cred, &admin, a.Logger())
}

func plan(a *cli.App, f benchFlags) bench.Plan {
	p := bench.Plan{}
	if f.quick {
		p = bench.Quick()
	}
	p.InFlight = f.inFlight
	if f.rounds > 0 {
		p.Rounds = f.rounds
	}
	if f.round > 0 {
		p.Round = f.round
	}
	if cli.IsTerminal(a.Stderr) {
		p.Progress = func(what string) { a.Note("askbus: %s", what) }
	}
	return p
}

// report is the result of a measurement.
type report interface{ Write(out io.Writer) error }

// report prints a result.
func printReport(a *cli.App, r report) error {
	if a.JSON() {
		enc := json.NewEncoder(cli.CleanJSON{Writer: a.Stdout})
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	return r.Write(a.Stdout)
}
