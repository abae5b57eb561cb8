package role

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/cli"
	"golang.org/x/term"
)

// chatQuestion is a setting that "askbus connect" asks for, and that is no secret.
type chatQuestion struct {
	Name string // of the variable without its prefix
	What string
	Into *string
}

// askSettings asks for the settings and secrets of a chat that are not set yet, and adds the former to settings.
func (c *chatEntry) askSettings(ctx context.Context, in *asked, settings map[string]string) (err error) {
	for _, q := range c.Questions {
		if *q.Into == "" {
			if *q.Into, err = in.line(ctx, q.What); err != nil {
				return err
			}
		}
		settings[c.env()+q.Name] = *q.Into
	}
	for _, s := range c.Secrets {
		if *s.Text != "" || *s.File != "" || slices.Contains(c.Unasked, s.Name) || s.Unneeded != nil && s.Unneeded() {
			continue
		}
		if *s.Text, err = in.secret(ctx, s.What); err != nil {
			return err
		}
		if *s.Text == "" {
			return cli.Usage("no %s: nothing was entered", s.What)
		}
	}
	return nil
}

// askAddress says at which address the platform must reach this machine, asks for it if it is not set yet, and checks it.
func (c *chatEntry) askAddress(ctx context.Context, a *cli.App, in *asked, calls *connecting, settings map[string]string) (err error) {
	a.Note("askbus: %s. Now it must lead to %s", c.PublicWhy, calls.at)
	if *c.PublicURL == "" {
		if *c.PublicURL, err = in.line(ctx, c.PublicWhat); err != nil {
			return err
		}
	}
	address := strings.TrimRight(*c.PublicURL, "/")
	if err := calls.check(ctx, address, c.PublicPlain, a.InboxCAs()); err != nil {
		return err
	}
	if *c.PublicURL = address; c.PublicName != "" {
		settings[c.env()+c.PublicName] = address
	}
	a.Note("askbus: %s leads to this machine", address)
	return nil
}

// asked reads what a person enters: at a terminal, or a line of standard input for each.
type asked struct {
	a     *cli.App
	lines *bufio.Reader
}

const maxEntered = 16 << 10

func (in *asked) line(ctx context.Context, what string) (string, error) {
	return in.read(ctx, what, false)
}

// secret asks for one line, which is not shown.
func (in *asked) secret(ctx context.Context, what string) (string, error) {
	return in.read(ctx, what, true)
}

func (in *asked) read(ctx context.Context, what string, hidden bool) (string, error) {
	fd := int(os.Stdin.Fd())
	typed := in.a.Interactive()
	if typed {
		fmt.Fprintf(in.a.Stderr, "%s: ", what)
	}
	if in.lines == nil {
		in.lines = bufio.NewReader(io.LimitReader(os.Stdin, maxEntered))
	}
	type result struct {
		line string
		err  error
	}
	before, _ := term.GetState(fd) // none: it is no terminal
	got := make(chan result, 1)
	go func() {
		if typed && hidden {
			line, err := term.ReadPassword(fd)
			got <- result{string(line), err}
			return
		}
		line, err := in.lines.ReadString('\n')
		if err == io.EOF {
			err = nil
		}
		got <- result{line, err}
	}()
	select {
	case r := <-got:
		if typed && hidden {
			fmt.Fprintln(in.a.Stderr)
		}
		return strings.TrimSpace(r.line), r.err
	case <-ctx.Done(): // the read ends with the process
		if before != nil {
			_ = term.Restore(fd, before)
		}
		return "", ctx.Err()
	}
}
