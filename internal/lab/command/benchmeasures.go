package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/role"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/spf13/cobra"
)

// benchMore returns the further measurements.
func benchMore(a *cli.App, f *benchFlags) []*cobra.Command {
	asks, agents, visible, idle := 100_000, 100_000, 200, 20*time.Second
	sub := func(use, short string, run func(ctx context.Context) (report, error)) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				r, err := run(cmd.Context())
				if err != nil {
					return err
				}
				return printReport(a, r)
			},
		}
	}
	onBed := func(run func(context.Context, *bench.Bed) (report, error)) func(context.Context) (report, error) {
		return func(ctx context.Context) (report, error) {
			bed, err := bed(ctx, a, *f)
			if err != nil {
				return nil, err
			}
			defer bed.Close()
			return run(ctx, bed)
		}
	}
	opts := func() bench.Options { return bench.Options{Partitions: f.partitions, Logger: a.Logger()} }
	visibleCmd := sub("visible", "Time from an ask to a live screen, and to a browser if one is installed", onBed(func(ctx context.Context, b *bench.Bed) (report, error) {
		return b.Visible(ctx, visible, chrome())
	}))
	visibleCmd.Flags().IntVar(&visible, "asks", visible, "asks to show, one by one")
	body, memory := "", "512MiB"
	pendingCmd := sub("pending", "Memory, disk, lists, cycles and restart with very many asks pending", func(ctx context.Context) (report, error) {
		if body == "" {
			return bench.MeasurePending(ctx, self, "", asks, plan(a, *f))
		}
		size, err := file.ParseSize(body)
		if err != nil || size > 240<<10 {
			return nil, &cli.ExitError{Code: cli.ExitUsage, Err: errors.Join(errors.New(`invalid --body: use at most 240KiB`), err)}
		}
		limit, err := file.ParseSize(memory)
		if err != nil {
			return nil, &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("--memory: %w", err)}
		}
		return bench.MeasureLarge(ctx, self, "", asks, size, limit, plan(a, *f))
	})
	pendingCmd.Flags().StringVar(&body, "body", body, "size of each ask, such as 200KiB: measures memory with large asks instead")
	pendingCmd.Flags().StringVar(&memory, "memory", memory, "with --body: memory limit of the process, enforced if this one is root on Linux")
	pendingCmd.Flags().IntVar(&asks, "asks", asks, "pending asks: 100000 or 1000000")
	waitersCmd := sub("waiters", "Memory and delivery with very many agents waiting", func(ctx context.Context) (report, error) {
		return bench.MeasureWaiters(ctx, self, "", agents, plan(a, *f))
	})
	waitersCmd.Flags().IntVar(&agents, "n", agents, "waiting agents")
	idleCmd := sub("idle", `What "askbus up" costs when nothing happens`, func(ctx context.Context) (report, error) {
		return bench.MeasureIdle(ctx, self, "", idle)
	})
	idleCmd.Flags().DurationVar(&idle, "for", idle, "how long to observe it")
	pending, events := 2000, 200
	screenCmd := sub("screen", "What a live screen costs its process: the inbox, with many asks pending", func(ctx context.Context) (report, error) {
		if pending < 0 || events < 2 {
			return nil, cli.Usage("--pending must be at least 0, and --events at least 2")
		}
		return bench.MeasureScreen(ctx, self, opts(), pending, events)
	})
	screenCmd.Flags().IntVar(&pending, "pending", pending, "pending asks")
	screenCmd.Flags().IntVar(&events, "events", events, "events: asks, and their ends")
	var inSlack bench.SlackOptions
	var slackCmd *cobra.Command
	slackCmd = sub("slack", "The Slack surface with a fake Slack: cards, clicks, edits, and recovery after an outage", onBed(func(ctx context.Context, b *bench.Bed) (report, error) {
		inSlack.Rounds = f.rounds // 0: the default
		if f.quick {
			quick := bench.QuickSlack()
			inSlack.Rounds = cmp.Or(f.rounds, quick.Rounds)
			for flag, set := range map[string]func(){
				"asks":   func() { inSlack.Asks = quick.Asks },
				"cards":  func() { inSlack.Cards = quick.Cards },
				"outage": func() { inSlack.Outage = quick.Outage },
			} {
				if !slackCmd.Flags().Changed(flag) {
					set()
				}
			}
		}
		return b.Slack(ctx, inSlack)
	}))
	slackCmd.Flags().IntVar(&inSlack.Asks, "asks", 300, "asks to present, click and edit")
	slackCmd.Flags().IntVar(&inSlack.Cards, "cards", 500, "cards that the outage leaves outdated")
	slackCmd.Flags().DurationVar(&inSlack.Outage, "outage", time.Hour, "how long Slack is unreachable, by its own clock")
	slackCmd.Flags().Float64Var(&inSlack.Speed, "speed", 60, "speed of Slack's clock in the outage")
	var inChats bench.ChatsOptions
	chatsCmd := sub("chats", "All chats with fakes of their platforms: a race of all surfaces, recovery after an outage, asks presented a second", onBed(func(ctx context.Context, b *bench.Bed) (report, error) {
		if f.quick {
			quick := bench.QuickChats()
			quick.Speed = inChats.Speed
			inChats = quick
		}
		c, err := b.Chats(ctx, inChats)
		return c, errors.Join(err, c.Race.Err())
	}))
	chatsCmd.Flags().IntVar(&inChats.Asks, "asks", 500, "asks of the race")
	chatsCmd.Flags().IntVar(&inChats.Cards, "cards", 500, "cards of each chat that the outage leaves outdated")
	chatsCmd.Flags().DurationVar(&inChats.Outage, "outage", time.Hour, "how long all platforms are unreachable, by their own clock")
	chatsCmd.Flags().Float64Var(&inChats.Speed, "speed", 60, "speed of the platforms' clock")
	chatsCmd.Flags().IntVar(&inChats.Presented, "presented", 200, "asks that are presented in each chat by 1, 2 and 4 replicas")
	var readers bench.InboxOptions
	inboxCmd := sub("inbox", "A team that shares a queue, and its page: wasted reads; in a browser: latency, bytes and main-thread time", onBed(func(ctx context.Context, b *bench.Bed) (report, error) {
		readers.Quick, readers.Chrome = f.quick, chrome()
		return b.Inbox(ctx, readers)
	}))
	inboxCmd.Flags().IntVar(&readers.People, "people", 3, "people who read")
	inboxCmd.Flags().Float64Var(&readers.Speed, "speed", 5, "speed of the people's clock; the bus runs at normal speed, so a higher value shows more wasted reads")
	inboxCmd.Flags().BoolVar(&readers.Screen, "screen", false, "only what is measured in a browser")
	inboxCmd.Flags().IntSliceVar(&readers.Sizes, "pending", []int{500, 1000}, "pending asks in the browser")
	inboxCmd.Flags().IntVar(&readers.Streams, "streams", 1000, "inboxes of different people that are open at once")
	var teamDay bench.TeamDayOptions
	teamCmd := sub("team", "A team of three at web, terminal and Slack, while asks arrive: wasted reads, answers by accident, answer to next card", onBed(func(ctx context.Context, b *bench.Bed) (report, error) {
		if f.quick {
			teamDay.Asks, teamDay.Over = min(teamDay.Asks, 40), min(teamDay.Over, 40*time.Second)
		}
		return b.TeamDay(ctx, teamDay)
	}))
	teamCmd.Flags().IntVar(&teamDay.Asks, "asks", 200, "asks")
	teamCmd.Flags().DurationVar(&teamDay.Over, "over", 200*time.Second, "how long they arrive, by the people's clock")
	teamCmd.Flags().Float64Var(&teamDay.Speed, "speed", 1, "speed of the people's clock; the bus runs at normal speed, so a higher value shows more wasted reads")
	proven := false
	auditCmd := sub("audit", "What the audit costs: the cycle with and without it", func(ctx context.Context) (report, error) {
		if proven {
			r, err := bench.AuditLog(ctx, opts(), plan(a, *f))
			r.Quick = f.quick
			return r, err
		}
		r, err := bench.Audit(ctx, opts(), plan(a, *f))
		r.Quick = f.quick
		return r, err
	})
	auditCmd.Flags().BoolVar(&proven, "log", false, "what the log that proves the audit costs, for each record")
	return []*cobra.Command{
		slackCmd, chatsCmd, inboxCmd, teamCmd, visibleCmd, screenCmd, benchPageCmd(a), pendingCmd, waitersCmd, idleCmd, benchSoakCmd(a, f), benchServerCmd(a),
		sub("partitions", "The cycle at 64 in flight with 1, 4 and 8 partitions", func(ctx context.Context) (report, error) {
			return bench.Partitions(ctx, opts(), plan(a, *f))
		}),
		benchBusesCmd(a, f),
		sub("consumers", "The cycle with 0, 50 and 200 single-tenant consumers on each stream", func(ctx context.Context) (report, error) {
			return bench.Consumers(ctx, opts(), plan(a, *f))
		}),
		auditCmd,
		sub("entrances", "The cycle through each entrance of \"askbus up\": HTTP, WebSocket, MCP, hook and NATS by hand, beside the Go client", func(ctx context.Context) (report, error) {
			r, err := bench.Entrances(ctx, self, "", plan(a, *f))
			r.Quick = f.quick
			return r, err
		}),
		sub("r3", "The cycle on a cluster of three, with three replicas of everything", func(ctx context.Context) (report, error) {
			return bench.R3(ctx, opts(), plan(a, *f))
		}),
		benchNoisyCmd(a, f), benchAttackerCmd(a), benchDrillCmd(a),
	}
}

// benchBusesCmd measures what tenants and accounts cost.
func benchBusesCmd(a *cli.App, f *benchFlags) *cobra.Command {
	o := bench.BusesOptions{Shapes: []string{"1x1", "1x16", "1x64", "4x16", "16x4"}, Sessions: 64}
	cmd := &cobra.Command{
		Use: "buses", Short: "The cycle with many tenants of a bus, and with many buses, each of two accounts, on one server", Args: cobra.NoArgs,
		Example: "  askbus-lab bench buses --shapes 1x1,64x1 --sessions 256",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := bench.MeasureBuses(cmd.Context(), o, plan(a, *f))
			if err != nil {
				return err
			}
			return printReport(a, r)
		},
	}
	cmd.Flags().StringSliceVar(&o.Shapes, "shapes", o.Shapes, "BUSESxTENANTS: buses, and tenants of each")
	cmd.Flags().IntVar(&o.Sessions, "sessions", o.Sessions, "sessions over all of them, a connection each")
	return cmd
}

// benchNoisyCmd measures the effect of noisy sessions on quiet ones.
func benchNoisyCmd(a *cli.App, f *benchFlags) *cobra.Command {
	var attacks bench.AttackOptions
	cmd := &cobra.Command{
		Use: "noisy", Short: "The effect of a noisy session, or of attackers, on quiet sessions", Args: cobra.NoArgs,
		Long: `Measures sessions that ask now and then, alone and together with one with 256 asks in flight.

With --attack it starts "askbus up" in a process of its own and attacks it from another one, whose
processor time is capped: waits (30,000 of one credential, and a disconnect), tokens (600 made-up
tokens of work a second), fill (large asks, to fill the store), sockets (2,000 WebSockets of one
token), slow-body (500 bodies without a token that never end), denied (messages that the credential
may not send), interest (subscribing and unsubscribing in turn), or all. The baseline is the same load on a port that discards it.`,
		Example: "  askbus-lab bench noisy --quick\n  askbus-lab bench noisy --attack all --rounds 3",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(attacks.Kinds) > 0 {
				r, err := bench.MeasureAttacks(cmd.Context(), self, plan(a, *f), attacks)
				if err != nil {
					return err
				}
				return printReport(a, r)
			}
			bed, err := bed(cmd.Context(), a, *f)
			if err != nil {
				return err
			}
			defer bed.Close()
			r, err := bed.Noisy(cmd.Context(), plan(a, *f))
			if err != nil {
				return err
			}
			return printReport(a, r)
		},
	}
	cmd.Flags().StringSliceVar(&attacks.Kinds, "attack", nil, "attackers: "+strings.Join(bench.Attacks(), ", ")+", or all")
	cmd.Flags().Float64Var(&attacks.CPU, "attacker-cpu", 0.25, "processor time of an attacker, as a share of one core")
	cli.Fixed(cmd, "attack", append(bench.Attacks(), "all")...)
	return cmd
}

// benchAttackerCmd runs an attacker in its own process.
func benchAttackerCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "attacker", Short: "Run an attacker of a measurement", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var how bench.Attacker
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&how); err != nil {
				return cli.Usage("read the attack from standard input: %w", err)
			}
			return bench.Attack(cmd.Context(), how, a.Stdout)
		},
	}
}

// benchPageCmd runs the inbox of "bench screen" in its own process.
func benchPageCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "page", Short: "Run the inbox of a measurement", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			go daemon.EaseHeap(cmd.Context()) // as "askbus web"
			return bench.RunInbox(cmd.Context(), cmd.InOrStdin(), a.Stdout)
		},
	}
}

// benchSoakCmd prints its report even when it ends early.
func benchSoakCmd(a *cli.App, f *benchFlags) *cobra.Command {
	opts := bench.SoakOptions{For: time.Hour, Rate: 100, Every: 10 * time.Second}
	cmd := &cobra.Command{
		Use: "soak", Short: `Memory of "askbus up" over an hour of load`, Args: cobra.NoArgs,
		Long: `Starts "askbus up" with a retention of a minute, so that outcomes come and go, and drives
cycles at a steady pace: most are answered, one in ten is withdrawn, one in ten expires,
and one in a hundred is a list. Ctrl-C ends it and prints the report.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.For <= 0 || opts.Rate <= 0 || opts.Every <= 0 {
				return cli.Usage("--for, --rate and --every must be more than 0")
			}
			if f.quick && !cmd.Flags().Changed("for") {
				opts.For, opts.Every = 25*time.Second, time.Second
			}
			opts.Partitions = f.partitions
			opts.Progress = func(what string) { a.Note("askbus: %s", what) }
			s, err := bench.MeasureSoak(cmd.Context(), self, opts)
			if s.Samples == 0 && err != nil {
				return err
			}
			return errors.Join(printReport(a, s), err)
		},
	}
	cmd.Flags().DurationVar(&opts.For, "for", opts.For, "how long it runs")
	cmd.Flags().Float64Var(&opts.Rate, "rate", opts.Rate, "cycles per second")
	cmd.Flags().DurationVar(&opts.Every, "every", opts.Every, "interval between samples of memory and disk")
	return cmd
}

// benchServerCmd runs the server of a measurement in its own process.
func benchServerCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "server", Short: "Run the server of a measurement", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := role.NewRunning(cmd.Context(), a)
			defer r.Close()
			srv, err := natsd.Start(natsd.Options{Dir: a.Dir, Addr: "127.0.0.1:0", Admin: true, Logger: r.Log})
			if err != nil {
				return err
			}
			r.Closes = append(r.Closes, srv.Close)
			r.After.NATSURL = srv.URL()
			if err := r.Ops(cmd.Context(), "server", "127.0.0.1:0", func() error { return nil }); err != nil {
				return err
			}
			return r.Run(cmd.Context(), nil)
		},
	}
}

// self returns a command that runs this program.
func self(ctx context.Context, args ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return exec.CommandContext(ctx, path, args...) //nolint:gosec // ourselves
}

// chrome returns the path of a browser, or "".
func chrome() string {
	for _, name := range []string{os.Getenv("ASKBUS_CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	return ""
}
