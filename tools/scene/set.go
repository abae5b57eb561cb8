package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// set is the environment of the scene: a bus, a terminal and a browser.
type set struct {
	up       *exec.Cmd
	terminal terminal
	stage    *stage
}

func (s *set) close() {
	if s.stage != nil {
		s.stage.close()
	}
	if s.terminal.socket != "" {
		last := terminal{context.WithoutCancel(s.terminal.ctx), s.terminal.socket}
		_, _ = last.tmux("kill-server")
	}
	if s.up != nil {
		_ = s.up.Process.Signal(syscall.SIGTERM) // it has exited already if ctx has ended
		_ = s.up.Wait()
	}
}

// build starts the set below home. Its environment has only PATH.
func build(ctx context.Context, home, askbus, ask string) (_ *set, err error) {
	s := &set{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	work := filepath.Join(home, "ledger")
	if err := prepare(ctx, home, work, askbus, ask); err != nil {
		return nil, err
	}
	env := []string{
		"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=truecolor",
		"LANG=C.UTF-8", "TZ=UTC", "ASKBUS_SESSION=build-42", "PS1=\\[\\e[38;2;158;206;138m\\]❯\\[\\e[0m\\] ",
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, askbus, args...) //nolint:gosec // the binary to show
		cmd.Env, cmd.Dir = env, work
		return cmd
	}
	var said bytes.Buffer
	s.up = run("up", "--no-open", "--http-addr", "127.0.0.1:0", "--nats-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0")
	s.up.Stderr = &said
	if err := s.up.Start(); err != nil {
		s.up = nil
		return nil, err
	}
	var link string
	if err := eventually(ctx, "askbus up: "+said.String(), func() (bool, error) {
		out, err := run("login", "--output", "text").Output()
		link = strings.TrimSpace(string(out))
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			return false, nil // not yet
		}
		return strings.HasPrefix(link, "http"), err
	}); err != nil {
		return nil, err
	}
	s.terminal = terminal{ctx, filepath.Join(home, "tmux")}
	in := "cd " + work + " && exec env -i '" + strings.Join(env, "' '") + "'"
	if err := s.terminal.open(73, 35, 25, in+" bash --norc --noprofile", in+" askbus tui"); err != nil {
		return nil, err
	}
	s.stage, err = newStage(ctx, filepath.Join(home, "chromium"), link)
	return s, err
}

// prepare creates the agent's working directory.
func prepare(ctx context.Context, home, work, askbus, ask string) error {
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(filepath.Join(home, "bin"), 0o700), os.Symlink(askbus, filepath.Join(home, "bin", "askbus"))); err != nil {
		return err
	}
	body, err := os.ReadFile(ask)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "ask.json"), body, 0o600); err != nil { //nolint:gosec // in a directory of this program
		return err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "storage"}, {"remote", "add", "origin", "https://github.com/acme/ledger"}} {
		cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the script's arguments
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}
