package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/internal/programstatus"
	"github.com/askbus/askbus/internal/prompt"
	"github.com/askbus/askbus/internal/tui"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/oasdiff/yaml"
	"github.com/spf13/cobra"
)

// tuiFlags are the flags of "askbus tui" and "askbus next".
type tuiFlags struct {
	once, oneKey, accessible bool
	keys                     string
}

func (a *app) tuiCmd() *cobra.Command {
	var f tuiFlags
	cmd := &cobra.Command{
		Use: "tui [--once [ID | SESSION/ID]]", Short: "Open the inbox in this terminal", Args: cobra.MaximumNArgs(1),
		Long: `Opens the inbox in this terminal: the waiting asks and the focused one, with the keys of the
web inbox; ? lists them. With --once it answers one ask, the most urgent when none is
named, and ends.

Keys can be set in a file, askbus/keys.yaml in the user's configuration directory or
--keys: an action from the list below, and its keys.

  ` + "send: [enter]\n  previous: [k, p]" + `

` + exitCodes,
		Example: `  askbus tui
  askbus tui --once deploy-42
  askbus tui --one-key`,
		ValidArgsFunction: a.completeAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := ""
			if len(args) == 1 {
				ref = args[0]
			}
			if ref != "" && !f.once {
				return usage("an ID needs --once")
			}
			return a.runTUI(cmd, ref, f)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.once, "once", false, "answer one ask and exit")
	cmd.Flags().BoolVar(&f.oneKey, "one-key", false, "a digit sends a single choice after 3 s; z cancels it until then")
	cmd.Flags().StringVar(&f.keys, "keys", "", "key bindings, as YAML (default: askbus/keys.yaml in the configuration directory)")
	return cmd
}

func (f *tuiFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.accessible, "accessible", os.Getenv("TERM") == "dumb", "plain lines instead of a screen: for screen readers")
}

// runTUI opens the inbox, or prompts a line at a time if no screen can be drawn.
func (a *app) runTUI(cmd *cobra.Command, ref string, f tuiFlags) error {
	ctx := cmd.Context()
	screen := !f.accessible && isTerminal(os.Stdin) && isTerminal(a.out)
	if !screen && !f.accessible && !f.once {
		return usage("the inbox needs a terminal; --accessible asks a line at a time")
	}
	keys, err := readKeys(f.keys)
	if err != nil {
		return err
	}
	a.quiet = screen // nothing may overwrite the screen
	b, err := a.dial()
	if err != nil {
		return err
	}
	defer b.close()
	var once ask.Key
	if ref != "" {
		if once, err = a.find(ctx, b, ref); err != nil {
			return err
		}
	}
	if !screen {
		return a.prompts(ctx, b, once, f.once, prompt.Read(cmd.InOrStdin()))
	}
	o, err := a.screen(ctx, b, tui.Options{Once: once, First: f.once && ref == "", OneKey: f.oneKey, Keys: keys})
	switch {
	case err != nil:
		return err
	case o != nil:
		return a.accepted(o)
	case f.once:
		return exit(exitPending)
	}
	return nil
}

// prompts asks one ask after the other, a line at a time.
func (a *app) prompts(ctx context.Context, b *bus, k ask.Key, once bool, lines *prompt.Lines) error {
	if k != (ask.Key{}) {
		return a.answerInteractively(ctx, b, k, lines)
	}
	if once {
		mine, err := a.mine(ctx, b)
		if err != nil {
			return err
		}
		if len(mine) == 0 {
			a.say("%s", a.tell("nothing is waiting"))
			return nil
		}
		return a.answerInteractively(ctx, b, mine[0].Ask.Key(), lines)
	}
	for {
		k, err := a.pickAsk(ctx, b, lines)
		if err != nil || k == (ask.Key{}) {
			return quietly(err)
		}
		if err := a.answerInteractively(ctx, b, k, lines); err != nil {
			if exitCode(err) == exitFailure {
				return err
			}
			a.complain(err) // answered elsewhere or left open: go on with the next
		}
	}
}

// quietly drops the error if the person left.
func quietly(err error) error {
	if exitCode(err) == exitPending {
		return nil
	}
	return err
}

// screen runs the inbox until the person quits.
func (a *app) screen(ctx context.Context, b *bus, opts tui.Options) (*ask.Outcome, error) {
	b, hangUp := a.asResponder(b)
	defer hangUp()
	r, err := a.responder(b)
	if err != nil {
		return nil, err
	}
	by, err := a.me(b)
	if err != nil {
		return nil, err
	}
	board := newBoard(r, b.role)
	within, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		_ = board.Run(within) // fails only when the connection is closed, which ends the screen
	})
	defer following.Wait()
	defer cancel()
	if leave, err := r.Present(b.role.Tenant, a.session); err == nil {
		defer leave()
	}
	opts.Source, opts.Team, opts.Decider, opts.By = board, board, r, by
	opts.Viewer = present.Viewer{By: by, Surface: cliType, Zone: time.Local, Inbox: a.inboxURL(), Lang: a.language()}
	opts.Session = a.session
	opts.Open = func(url string) { openBrowser(context.WithoutCancel(ctx), url) }
	opts.Notify = func(n int) string { return notification(a.language(), n) }
	if a.tty.OSC7501 && a.needed() != nil {
		opts.Status = programStatus
		defer fmt.Fprint(a.out, programStatus(0, ""))
	}
	return tui.Run(ctx, tui.Terminal{}, opts, tui.Board(board))
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

// readKeys reads a key file. The default file may be missing.
func readKeys(path string) (map[string][]string, error) {
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
		return nil, &exitError{exitUsage, err}
	}
	var keys map[string][]string
	if _, err := yaml.Unmarshal(data, &keys, yaml.DecodeOpts{}); err != nil {
		return nil, usage("invalid keys in %s: want an action and its keys on each line, such as \"send: [enter]\": %w", path, err)
	}
	return keys, nil
}
