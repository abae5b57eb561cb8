package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/checkout"
	"github.com/askbus/askbus/internal/hook"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// hostLimit is a coding agent's default timeout for its hook.
const hostLimit = 600 * time.Second

// hookBytes bounds the input from a host.
const hookBytes = 4 << 20

func (a *app) hookCmd() *cobra.Command {
	var mode string
	var limit, timeout time.Duration
	var outlive bool
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Serve the hook of a coding agent's CLI, so that its questions can be answered from any screen",
		Long: `Reads one hook event (PreToolUse, PermissionRequest or PostToolUse of the tool
AskUserQuestion) as JSON on standard input, asks on every screen, and prints what the
CLI expects. Stop, SubagentStop, SessionEnd and UserPromptSubmit withdraw asks that are no
longer awaited, and so does stopping a waiting hook. "askbus hook install" prints or
writes the CLI's settings.

  --mode wait   PreToolUse waits for an answer; the CLI's own dialog opens after --limit
  --mode race   the CLI's own dialog opens at once, along with the other screens
  --mode defer  the CLI's process ends, and gets the answer when it is resumed

It fails open: any failure ends with one line on standard error and exit code
0, and the CLI continues on its own. It never invents an answer.`,
		Example: `  askbus hook install --write
  askbus hook --mode race < event.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mode == string(hook.Defer) && !cmd.Flags().Changed("limit") {
				limit = time.Nanosecond
			}
			out, say := a.runHook(cmd.Context(), cmd.InOrStdin(), hook.Call{Mode: hook.Mode(mode), Limit: limit, Timeout: timeout, Outlive: outlive})
			if say != "" {
				a.say("askbus: %s", ask.CleanLine(say))
			}
			if out != nil {
				a.printJSON(out)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&mode, "mode", string(hook.Wait), "wait, race or defer")
	cmd.Flags().DurationVar(&limit, "limit", hostLimit-10*time.Second, "how long to wait, below the CLI's own limit (default with --mode defer: not at all)")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long the ask stays open: 1s to 720h (default 720h)")
	outliveFlag(cmd, &outlive)
	fixed(cmd, "mode", "wait", "race", "defer")
	cmd.AddCommand(a.hookTestCmd(), a.hookInstallCmd())
	return cmd
}

// outliveFlag is the flag of commands that wait on behalf of an agent.
func outliveFlag(cmd *cobra.Command, outlive *bool) {
	cmd.Flags().BoolVar(outlive, "outlive", false, "keep questions open when the agent exits (default: they are withdrawn about 8 minutes after its last sign of life)")
}

// runHook serves one event and never fails.
func (a *app) runHook(ctx context.Context, stdin io.Reader, call hook.Call) (out []byte, say string) {
	if !slices.Contains([]hook.Mode{hook.Wait, hook.Race, hook.Defer}, call.Mode) {
		return nil, fmt.Sprintf("no decision: invalid --mode %q: use wait, race or defer", call.Mode)
	}
	body, err := io.ReadAll(io.LimitReader(stdin, hookBytes+1))
	if err == nil && len(body) > hookBytes {
		err = fmt.Errorf("standard input has more than %d bytes", hookBytes)
	}
	if err != nil {
		return nil, "no decision: " + err.Error()
	}
	if call.Tenant, call.Session, err = a.hostHome(func() string { return "" }); err != nil {
		return nil, "no decision: " + err.Error()
	}
	lazy := &lazyBus{a: a}
	defer lazy.close()
	native := &hostDialog{lazy: lazy, typ: ask.ResponderNative}
	defer native.close()
	call.Human, call.Stopped = sitting(), true
	call.Work = func(dir string, a *ask.Agent) { checkout.Of(dir).Fill(a) }
	return hook.New(lazy, hook.Options{Logger: a.log(), Answerer: native, Waiting: a.neededFor()}).Run(ctx, call, body)
}

func (a *app) hookTestCmd() *cobra.Command {
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
				if conversation, err = readFile(args[0], cmd.InOrStdin(), bigFile); err != nil {
					return err
				}
			}
			return hook.Replay(a.out, hook.Mode(mode), conversation)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", string(hook.Wait), "wait, race or defer")
	return cmd
}

// hostSafe returns the exit code for a host, which would take the usage error's code for a refusal
// of its tool.
func hostSafe(args []string, code int) int {
	if code == exitUsage && slices.Contains(args, "hook") && !slices.Contains(args, "test") && !slices.Contains(args, "install") {
		return exitFailure
	}
	return code
}
