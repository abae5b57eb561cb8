package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/lab/torture"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// tortureFlags are the flags of "askbus-lab torture".
type tortureFlags struct {
	torture.Options
	bus        torture.EmbeddedOptions
	maxStore   string
	adminCreds string
	far        string
	processes  bool
	attacks    bench.AttackOptions
}

func tortureCmd(a *cli.App) *cobra.Command {
	var t tortureFlags
	cmd := &cobra.Command{
		Use: "torture", Short: "Drive a bus from a seed, break things, and check every promise", Args: cobra.NoArgs, Hidden: true,
		Long: `Drives agents, people, operators, screens and a posting surface from a seed, records
what each of them was told, and checks the history against the promises of
docs/guarantees.md. It ends at --asks or --for, whichever comes first, prints one
closing line, and exits non-zero on any violation.

Without --nats-url it starts its own bus: in this process, or with --processes
as processes of this binary that it kills and stops. With --nats-url it uses a running
bus, with the keys in --dir, which make a credential for each party;
--admin-creds reads the ledger; without it that check is skipped.

With --attack, the attackers of "askbus-lab bench noisy" also run, each in its own process:
give --nats-url and --dir of a running "askbus up".`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTorture(cmd.Context(), a, t) },
	}
	f := cmd.Flags()
	f.IntVar(&t.Asks, "asks", 5000, "end after this many asks")
	f.DurationVar(&t.For, "for", 30*time.Second, "end after this long")
	f.Uint64Var(&t.Seed, "seed", 0, "seed of all choices (default: random)")
	f.IntVar(&t.Open, "open", 256, "asks open at once")
	f.IntVar(&t.Votes, "votes", 0, "percentage of asks that several people decide (default 15)")
	f.IntVar(&t.Ladders, "ladders", 0, "percentage of asks with a ladder (default 5); none in runs shorter than 20s")
	f.IntVar(&t.Burst, "burst", 0, "number of asks that share a deadline")
	f.DurationVar(&t.KillEvery, "kill-every", 0, "time between kills")
	f.DurationVar(&t.StopEvery, "stop-every", 0, "time between stops (SIGSTOP, SIGCONT)")
	f.IntVar(&t.Kills, "kills", 0, "maximum number of kills")
	f.StringVar(&t.Victims, "victims", "", "kill and stop only processes whose name has this prefix: server, broker, party, disk, clock")
	f.BoolVar(&t.Disturbed, "disturbed", false, "faults are injected from outside: allow what they excuse")
	f.DurationVar(&t.Ends, "ends-within", 0, "limit for an ask to end after its deadline (default 10s; with faults 45s)")
	f.DurationVar(&t.Learns, "learns-within", 0, "limit for a party to learn of an end (default 10s; with faults 45s)")
	f.DurationVar(&t.Steps, "steps-within", 0, "limit for a step of a ladder to be taken (default 10s; with faults 75s)")
	f.DurationVar(&t.Posts, "posts-within", 0, "limit for a posting surface to be given an end (default 90s)")
	f.DurationVar(&t.Retention, "retention", torture.DefaultRetention, "retention of the bus")
	f.DurationVar(&t.Margin, "margin", torture.DefaultMargin, "margin of the bus")
	f.DurationVar(&t.Skew, "clock-skew", 0, "clock skew: of brokers in either direction, of agents ahead, of surfaces behind")
	f.IntVar(&t.bus.Nodes, "nodes", 1, "servers of the bus: 1, or 3 with three replicas of everything")
	f.IntVar(&t.bus.Brokers, "brokers", 2, "number of brokers")
	f.StringVar(&t.maxStore, "max-store", "10GiB", "disk space of the bus")
	f.BoolVar(&t.processes, "processes", false, "start the bus as processes of this binary")
	f.StringVar(&t.bus.SmallDisk, "small-disk", "", "with --processes: a directory on a small file system of its own; one server's store is there, and it is filled as often as others are killed")
	f.StringVar(&t.bus.Skewed, "skewed", "", "with --processes and --nodes 3: this program with a clock that "+torture.SkewEnv+" sets, as hack/clock-torture builds it; one server at a time runs it, another after each kill of \"clock\"")
	f.StringVar(&t.adminCreds, "admin-creds", "", "with --nats-url: a credential that may read the ledger")
	f.StringVar(&t.far, "far-url", "", "with --nats-url: where every second party connects, such as a leaf node of the bus")
	f.StringSliceVar(&t.attacks.Kinds, "attack", nil, "with --nats-url: attackers beside it: "+strings.Join(bench.Attacks(), ", ")+", or all")
	f.Float64Var(&t.attacks.CPU, "attacker-cpu", 0.25, "processor time of an attacker, of one core")
	cli.Fixed(cmd, "attack", append(bench.Attacks(), "all")...)
	t.breakFlag(f)
	cmd.AddCommand(torturePartyCmd(a))
	return cmd
}

// torturePartyCmd plays scripts in its own process, which torture kills.
func torturePartyCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "party", Short: "Play scripts that standard input names", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return torture.Party(cmd.Context(), os.Stdin, os.Stdout, tortureLog(a))
		},
	}
}

func runTorture(ctx context.Context, a *cli.App, t tortureFlags) error {
	if t.Asks < 1 || t.For < 5*time.Second {
		return cli.Usage("give at least --asks 1 and --for 5s")
	}
	if t.bus.SmallDisk != "" && !t.processes {
		return cli.Usage("--small-disk needs --processes")
	}
	if t.bus.Skewed != "" && (!t.processes || t.bus.Nodes < 3) {
		return cli.Usage("--skewed needs --processes and --nodes 3")
	}
	if len(t.attacks.Kinds) > 0 && a.NATS.URL == "" {
		return cli.Usage("--attack needs a bus with its HTTP endpoints: start \"askbus up\", and give its --nats-url and --dir")
	}
	if err := checkBreakFlag(a, &t); err != nil {
		return err
	}
	if t.Seed == 0 {
		t.Seed = rand.Uint64N(1 << 32) //nolint:gosec // a seed
	}
	t.Out, t.Logger = a.Stdout, tortureLog(a)
	bus, err := tortureBus(ctx, a, t)
	if err != nil {
		return err
	}
	attackers, err := tortureAttackers(ctx, a, t.attacks)
	if err != nil {
		return errors.Join(err, bus.Close())
	}
	_, err = torture.Run(ctx, bus, t.Options)
	for kind, n := range attackers.Stop() {
		a.Note("askbus: attacker %s: %d sent, %d refused", kind, n.Sent, n.Refused)
	}
	return errors.Join(err, bus.Close())
}

// tortureAttackers starts the requested attackers.
func tortureAttackers(ctx context.Context, a *cli.App, opts bench.AttackOptions) (*bench.Attackers, error) {
	if len(opts.Kinds) == 0 {
		return &bench.Attackers{}, nil
	}
	return bench.StartAttackers(ctx, self, a.Dir, opts)
}

// tortureLog is quiet by default: a bus with injected faults warns all the time.
func tortureLog(a *cli.App) *slog.Logger {
	if a.LogLevel == "warn" {
		return slog.New(slog.DiscardHandler)
	}
	return a.Logger()
}

func tortureBus(ctx context.Context, a *cli.App, t tortureFlags) (torture.Bus, error) {
	maxStore, err := file.ParseSize(t.maxStore)
	if err != nil {
		return nil, cli.Usage("--max-store: %w", err)
	}
	opts := t.bus
	opts.MaxStore, opts.Logger = maxStore, t.Logger
	opts.Retention, opts.Margin, opts.Skew = t.Retention, t.Margin, t.Skew
	switch {
	case a.NATS.URL != "":
		return tortureGiven(a, t)
	case t.processes:
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the path of this program: %w", err)
		}
		return torture.StartProcesses(ctx, self, opts)
	}
	return torture.StartEmbedded(ctx, opts)
}

// tortureGiven returns a bus that is already running.
func tortureGiven(a *cli.App, t tortureFlags) (torture.Bus, error) {
	bus := &torture.Given{URL: a.NATS.URL, Far: t.far, Trust: a.Trust}
	if a.Creds != "" {
		return nil, cli.Usage("--creds: no single credential can be every party; give the keys of the bus with --dir instead")
	}
	keys, err := operator.ExistingKeys(a.Dir)
	if err != nil {
		return nil, err
	}
	bus.Issuer = keys
	if t.adminCreds != "" {
		c, err := ledgerCreds(t.adminCreds)
		if err != nil {
			return nil, err
		}
		bus.Admin = &c
	}
	return bus, nil
}

// ledgerCreds reads a credential that may read the ledger: a file as "askbus auth broker" prints
// it, or any other credential, even of an unknown role.
func ledgerCreds(s string) (client.Credential, error) {
	if b, err := operator.ReadBrokerCreds(s); err == nil {
		return b.Ledger, nil
	}
	return cli.ReadCreds(s)
}
