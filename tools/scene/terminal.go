package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// patience is the limit of each wait.
const patience = time.Minute

// terminal is a private tmux server with one window of two panes.
type terminal struct {
	ctx    context.Context //nolint:containedctx // for the whole recording
	socket string
}

func (t *terminal) tmux(args ...string) (string, error) {
	cmd := exec.CommandContext(t.ctx, "tmux", append([]string{"-S", t.socket, "-f", "/dev/null"}, args...)...) //nolint:gosec // the script's arguments
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
	}
	return string(out), nil
}

// open starts a command in each pane; the lower pane has the given number of
// lines.
func (t *terminal) open(width, height, lower int, upperCmd, lowerCmd string) error {
	for _, args := range [][]string{
		{"new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), upperCmd},
		// The colours that a program gets when it queries the terminal.
		{"set", "-g", "window-style", "fg=" + foreground + ",bg=" + background},
		{"set", "-g", "status", "off"},
		{"split-window", "-v", "-l", strconv.Itoa(lower), lowerCmd},
	} {
		if _, err := t.tmux(args...); err != nil {
			return err
		}
	}
	return nil
}

func pane(p int) string { return "0." + strconv.Itoa(p) }

func (t *terminal) typed(p int, text string) error {
	_, err := t.tmux("send-keys", "-t", pane(p), "-l", "--", text)
	if err != nil {
		return err
	}
	// The shell echoes it.
	return t.wait(p, strings.TrimSpace(text))
}

func (t *terminal) press(p int, key string) error {
	_, err := t.tmux("send-keys", "-t", pane(p), key)
	return err
}

// wait waits until a pane shows a text.
func (t *terminal) wait(p int, text string) error {
	return eventually(t.ctx, fmt.Sprintf("%q in pane %d", text, p), func() (bool, error) {
		shown, err := t.tmux("capture-pane", "-p", "-t", pane(p))
		return strings.Contains(shown, text), err
	})
}

// drawn returns a pane as HTML, with its cursor.
func (t *terminal) drawn(p int) (string, error) {
	shown, err := t.tmux("capture-pane", "-e", "-p", "-t", pane(p))
	if err != nil {
		return "", err
	}
	at, err := t.tmux("display-message", "-p", "-t", pane(p), "#{cursor_flag} #{cursor_x} #{cursor_y}")
	if err != nil {
		return "", err
	}
	var visible, x, y int
	if _, err := fmt.Sscan(at, &visible, &x, &y); err != nil {
		return "", fmt.Errorf("cursor of pane %d: %w", p, err)
	}
	drawn := markup(strings.TrimRight(shown, "\n"))
	if visible == 1 && p == asking {
		drawn += fmt.Sprintf(`<i class="cursor" style="left:%dch;top:calc(%d * var(--line))"></i>`, x, y)
	}
	return drawn, nil
}

// eventually waits until ok returns true.
func eventually(ctx context.Context, what string, ok func() (bool, error)) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		if done, err := ok(); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
