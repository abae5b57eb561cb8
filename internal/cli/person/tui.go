package person

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/answering/programstatus"
	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/oasdiff/yaml"
	"github.com/spf13/cobra"
)

// tuiFlags are the flags of "askbus tui" and "askbus next".
type tuiFlags struct {
	once, oneKey, accessible bool
	keys                     string
}

// TUICmd is "askbus tui".
func TUICmd(a *cli.App) *cobra.Command {
	var f tuiFlags
	cmd := &cobra.Command{
		Use: "tui [--once [ID | SESSION/ID]]", Short: "Open the inbox in this terminal", Args: cobra.MaximumNArgs(1),
		Long: `Opens the inbox in this terminal: the waiting asks and the focused one, with the keys of the
web inbox; ? lists them. With --once it answers one ask, the most urgent when none is
named, and ends.

Keys can be set in a file, askbus/keys.yaml in the user's configuration directory or
--keys: an action, and the keys that replace its own.

  ` + "send: [enter]\n  previous: [k, p]" + `

The actions: next, previous, first, last, down, up, toggle, send, forward, back, other,
note, reply, decline, context, preview, compare, files, filter, mine, snooze, snoozed,
hand-over, copy, browser, take-back, confirm, break-glass, help, leave, quit.

` + cli.ExitCodes,
		Example: `  askbus tui
  askbus tui --once deploy-42
  askbus tui --one-key`,
		ValidArgsFunction: a.CompleteAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := ""
			if len(args) == 1 {
				ref = args[0]
			}
			if ref != "" && !f.once {
				return cli.Usage("an ID needs --once")
			}
			return runTUI(a, cmd, ref, f)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.once, "once", false, "answer one ask and exit")
	cmd.Flags().BoolVar(&f.oneKey, "one-key", false, "a digit chooses and sends a single choice")
	cmd.Flags().StringVar(&a.Terminal.Theme, "theme", a.Terminal.Theme, "colors: light, dark, or auto, as the terminal or COLORFGBG says")
	cli.Fixed(cmd, "theme", string(tui.ThemeAuto), string(tui.ThemeLight), string(tui.ThemeDark))
	cmd.Flags().StringVar(&f.keys, "keys", "", "key bindings, as YAML (default: askbus/keys.yaml in the configuration directory)")
	return cmd
}

func (f *tuiFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.accessible, "accessible", os.Getenv("TERM") == "dumb", "plain lines instead of a screen: for screen readers")
}

// runTUI opens the inbox, or prompts a line at a time if no screen can be drawn.
func runTUI(a *cli.App, cmd *cobra.Command, ref string, f tuiFlags) error {
	ctx := cmd.Context()
	screen := !f.accessible && cli.IsTerminal(os.Stdin) && cli.IsTerminal(a.Stdout)
	if !screen && !f.accessible && !f.once {
		return cli.Usage("the inbox needs a terminal; --accessible asks a line at a time")
	}
	theme := tui.Theme(a.Terminal.Theme)
	if !slices.Contains([]tui.Theme{tui.ThemeAuto, tui.ThemeLight, tui.ThemeDark}, theme) {
		return cli.Usage("--theme (ASKBUS_THEME): %q is not a theme; auto, light or dark", theme)
	}
	keys, err := ReadKeys(f.keys)
	if err != nil {
		return err
	}
	a.Quiet = screen // nothing may overwrite the screen
	b, err := a.Dial()
	if err != nil {
		return err
	}
	defer b.Close()
	var once ask.Key
	if ref != "" {
		if once, err = a.Find(ctx, b, ref); err != nil {
			return err
		}
	}
	if !screen {
		return prompts(ctx, a, b, once, f.once, prompt.Read(cmd.InOrStdin()))
	}
	o, err := runScreen(ctx, a, b, tui.Options{Once: once, First: f.once && ref == "", OneKey: f.oneKey, Undo: a.Undo, Keys: keys, Theme: theme})
	switch {
	case err != nil:
		return err
	case o != nil:
		me, err := a.Me(b)
		if err != nil {
			return err
		}
		return a.Accepted(o, me)
	case f.once:
		return cli.Exit(cli.ExitPending)
	}
	return nil
}

// prompts asks one ask after the other, a line at a time.
func prompts(ctx context.Context, a *cli.App, b *cli.Bus, k ask.Key, once bool, lines *prompt.Lines) error {
	if k != (ask.Key{}) {
		return answerInteractively(ctx, a, b, k, lines)
	}
	if once {
		mine, err := mine(ctx, a, b)
		if err != nil {
			return err
		}
		if len(mine) == 0 {
			a.Note("%s", a.Tell("nothing is waiting"))
			return nil
		}
		return answerInteractively(ctx, a, b, mine[0].Ask.Key(), lines)
	}
	for {
		k, err := pickAsk(ctx, a, b, lines)
		if err != nil || k == (ask.Key{}) {
			return quietly(err)
		}
		if err := answerInteractively(ctx, a, b, k, lines); err != nil {
			if cli.ExitCode(err) == cli.ExitFailure {
				return err
			}
			a.Complain(err) // answered elsewhere or left open: go on with the next
			if !errors.Is(err, ask.ErrResolved) {
				continue
			}
			a.Note("%s", a.Tell("Press Enter to go on. What you have typed is not sent."))
			if _, err := lines.Next(ctx); err != nil { // what they were typing is no answer to another ask
				return quietly(left(err))
			}
		}
	}
}

// quietly drops the error if the person left.
func quietly(err error) error {
	if cli.ExitCode(err) == cli.ExitPending {
		return nil
	}
	return err
}

// screen runs the inbox until the person quits.
func runScreen(ctx context.Context, a *cli.App, b *cli.Bus, opts tui.Options) (*ask.Outcome, error) {
	b, hangUp := a.AsResponder(b)
	defer hangUp()
	r, by, err := a.Answering(b)
	if err != nil {
		return nil, err
	}
	board := cli.NewBoard(r, b.Role)
	within, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		_ = board.Run(within) // fails only when the connection is closed, which ends the screen
	})
	defer following.Wait()
	defer cancel()
	if leave, err := r.Present(b.Role.Tenant, a.Session); err == nil {
		defer leave()
	}
	opts.Source, opts.Team, opts.Decider, opts.By = board, board, r, by
	opts.Viewer = card.Viewer{By: by, StandIns: board.StandIns, Surface: cli.SurfaceType, Zone: time.Local, Inbox: a.InboxURL(), Lang: a.Language()}
	opts.Session, opts.File, opts.SignedOut = a.Session, r.File, a.SignedOut
	opts.Refused = func() bool { return connection.Refused(b.NC) }
	opts.Drafts, _ = tui.OpenDrafts(filepath.Join(a.Dir, "drafts")) // without a directory they end with the screen
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)          // the terminal is closed
	defer stop()
	opts.Open = func(url string) { cli.OpenBrowser(context.WithoutCancel(ctx), url) }
	opts.Notify = func(n int) string { return cli.Notification(a.Language(), n) }
	if a.Terminal.OSC7501 && a.Needed() != nil {
		opts.Status = programStatus
		defer fmt.Fprint(a.Stdout, programStatus(0, ""))
	}
	return tui.Run(ctx, tui.Terminal{Env: os.Environ()}, opts, tui.Board(board))
}

// programStatus returns the escape sequence that reports n waiting asks.
func programStatus(n int, first string) string {
	s := programstatus.Clear()
	if n > 0 {
		s = programstatus.Blocked(first)
	}
	if os.Getenv("TMUX") != "" {
		s = programstatus.InTmux(s)
	}
	return s
}

// ReadKeys reads a key file. The default file may be missing.
func ReadKeys(path string) (map[string][]string, error) {
	optional := path == ""
	if optional {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // no configuration directory: default keys
		}
		path = filepath.Join(dir, "askbus", "keys.yaml")
	}
	data, err := os.ReadFile(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // default keys
	}
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	var keys map[string][]string
	if _, err := yaml.Unmarshal(data, &keys, yaml.DecodeOpts{}); err != nil {
		return nil, cli.Usage("invalid keys in %s: want an action and its keys on each line, such as \"send: [enter]\": %w", path, err)
	}
	return keys, nil
}
