package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/checkout"
	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// hostLimit is a coding agent's default timeout for its hook.
const hostLimit = 600 * time.Second

// attended is "0" in the environment of a Claude Code that nobody sits at (claude -p, an SDK).
const attended = "CLAUDE_CODE_SESSION_ATTENDED"

// hookBytes bounds the input from a host.
const hookBytes = 4 << 20

// HookCmd is "askbus hook".
func HookCmd(a *cli.App) *cobra.Command {
	var mode, host string
	var limit, timeout, after, forms time.Duration
	var outlive bool
	var minProof string
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Serve the hook of a coding agent's CLI, so that its questions can be answered from any screen",
		Long: `Reads one hook event (PreToolUse, PermissionRequest, PostToolUse, …) as JSON on standard
input, asks on every screen, and prints what the CLI expects. It asks the questions of the
tool AskUserQuestion, permission for any other tool (PermissionRequest), and the forms of MCP
servers (Elicitation). Stop, SubagentStop, SessionEnd and UserPromptSubmit withdraw asks for
which nobody waits any more, and so does stopping a waiting hook. "askbus hook install" prints
or writes the CLI's settings.

  --mode wait   PreToolUse waits for an answer; the CLI's own dialog opens after --limit
  --mode race   the CLI's own dialog opens at once, along with the other screens
  --mode defer  the CLI's process ends, and gets the answer when it is resumed

With --host codex, qwen or copilot it serves the permission prompts of that CLI. They have no
race: its dialog opens after --forms.

It fails open: any failure ends with one line on standard error and exit code
0, and the CLI continues on its own. It never invents an answer.`,
		Example: `  askbus hook install --write
  askbus hook --mode race < event.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mode == string(hook.Defer) && !cmd.Flags().Changed("limit") {
				limit = time.Nanosecond
			}
			of, ok := hostcall.HostOf(host)
			if !ok {
				a.Note("askbus: no decision: unknown --host %q: use %s", host, strings.Join(hostcall.Hosts(), ", "))
				return nil
			}
			out, say := runHook(cmd.Context(), a, cmd.InOrStdin(), hook.Call{Mode: hook.Mode(mode), Host: of, Limit: limit, Timeout: timeout, Outlive: outlive, After: after, Forms: forms, MinProof: minProof})
			if say != "" {
				a.Note("askbus: %s", ask.CleanLine(say))
			}
			if out != nil {
				a.PrintJSON(out)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&mode, "mode", string(hook.Wait), "wait, race or defer")
	cmd.Flags().StringVar(&host, "host", hostcall.Hosts()[0], "whose hook this is: "+strings.Join(hostcall.Hosts(), ", "))
	cmd.Flags().DurationVar(&limit, "limit", hostLimit-10*time.Second, "how long to wait, below the CLI's own limit; with --mode defer not at all, unless it is given")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long the ask stays open: 1s to 720h (default 720h)")
	cmd.Flags().DurationVar(&after, "after", 5*time.Second, "for how long only the terminal asks for a permission; when nobody is at the terminal (claude -p), others are asked at once")
	cmd.Flags().DurationVar(&forms, "forms", 30*time.Second, "for how long only other screens have the form of an MCP server, or what another --host asks, before the terminal's dialog opens; as long as --limit when nobody is at the terminal")
	cmd.Flags().StringVar(&minProof, "min-proof", "", "the weakest proof of who answers a permission; with os or stronger, what stays in the settings can be permitted too (default: any, for this session at most)")
	outliveFlag(cmd, &outlive)
	cli.Fixed(cmd, "mode", "wait", "race", "defer")
	cli.Fixed(cmd, "host", hostcall.Hosts()...)
	cli.Fixed(cmd, "min-proof", ask.MinProofs()...)
	cmd.AddCommand(hookTestCmd(a), hookInstallCmd(a))
	return cmd
}

// runHook serves one event and never fails.
func runHook(ctx context.Context, a *cli.App, stdin io.Reader, call hook.Call) (out []byte, say string) {
	if !slices.Contains([]hook.Mode{hook.Wait, hook.Race, hook.Defer}, call.Mode) {
		return nil, fmt.Sprintf("no decision: invalid --mode %q: use wait, race or defer", call.Mode)
	}
	var body json.RawMessage // one value: not every host closes the input behind it
	input := &io.LimitedReader{R: stdin, N: hookBytes + 1}
	err := json.NewDecoder(input).Decode(&body)
	if err != nil {
		if input.N <= 0 {
			err = fmt.Errorf("standard input has more than %d bytes", hookBytes)
		}
		return nil, "no decision: standard input is not a hook event: " + err.Error()
	}
	if call.MinProof != "" && !slices.Contains(ask.MinProofs(), call.MinProof) {
		return nil, fmt.Sprintf("no decision: invalid --min-proof %q: use %s", call.MinProof, strings.Join(ask.MinProofs(), ", "))
	}
	if call.Host.Name == "copilot" && !terminal() { // copilot -p in CI; Codex and Qwen Code then ask no hook
		call.Forms = 0
	}
	if os.Getenv(attended) == "0" {
		call.After, call.Forms = 0, 0
		if err := noteSilent(ctx, a, body); err != nil {
			a.Logger().WarnContext(ctx, "cannot note a run that asks nobody", slog.Any("error", err))
		}
	}
	ctx, done := withHost(ctx, os.Stdout, hook.ErrGone)
	defer done()
	call.Language = a.Language()
	if call.Tenant, call.Session, err = hostHome(a, ""); err != nil {
		return nil, "no decision: " + err.Error()
	}
	lazy := &lazyBus{a: a}
	defer lazy.close()
	native := &hostDialog{lazy: lazy, typ: ask.ResponderNative}
	defer native.close()
	call.Human, call.Stopped = cli.Sitting(), true
	call.Work = func(dir string, a *ask.Agent) { checkout.Of(dir).Fill(a) }
	waiting := a.NeededFor()
	if call.Host.First && !call.Outlive {
		waiting = withdrawing(a, waiting)
	}
	return hook.New(lazy, hook.Options{Logger: a.Logger(), Answerer: native, Waiting: waiting}).Run(ctx, call, body)
}

// withdrawing returns a Waiting function whose ask is withdrawn when this process is killed, as Codex does on Esc.
func withdrawing(a *cli.App, waiting func(*ask.Ask) func()) func(*ask.Ask) func() {
	return func(q *ask.Ask) func() {
		args := []string{"withdraw", "--tenant", q.Tenant, "--dir", a.Dir, "--reason", hook.LeftThere}
		if a.NATS.URL != "" {
			args = append(args, "--nats-url", a.NATS.URL)
		}
		if a.Creds != "" {
			args = append(args, "--creds", a.Creds)
		}
		ended, err := whenKilled(append(args, "--", q.Session+"/"+q.ID)) // a session may begin with a hyphen
		if err != nil {
			a.Logger().Warn("if this hook is killed, its ask stays open for a while", slog.Any("error", err))
		}
		done := waiting(q)
		return func() { done(); ended() }
	}
}

// terminal reports whether this process has a terminal that it could ask at.
func terminal() bool {
	f, err := os.Open("/dev/tty")
	if err == nil {
		err = f.Close()
	}
	return err == nil
}

func hookTestCmd(a *cli.App) *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Play a recorded conversation and show what the hook would print, without a bus",
		Long: `Plays a conversation, one JSON object after the other: what the CLI sends to a hook,
each optionally followed by an action at another screen:

  {"answer": {"Which database?": "SQLite"}}   or   {"decline": "not now"}   or   {"nothing": true}

Without an action the first option is chosen. Without FILE it plays a sample.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			conversation := hook.Sample()
			if len(args) == 1 {
				var err error
				if conversation, err = cli.ReadFile(args[0], cmd.InOrStdin(), bigFile); err != nil {
					return err
				}
			}
			return hook.Replay(a.Stdout, hook.Mode(mode), conversation)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", string(hook.Wait), "wait, race or defer")
	return cmd
}

// HostSafe returns the exit code for a host, which would take the usage error's code for a refusal
// of its tool.
func HostSafe(args []string, code int) int {
	if code == cli.ExitUsage && slices.Contains(args, "hook") && !slices.Contains(args, "test") && !slices.Contains(args, "install") {
		return cli.ExitFailure
	}
	return code
}
