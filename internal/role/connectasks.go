package role

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"golang.org/x/term"
)

// chatQuestion is a setting that "askbus connect" asks for, and that is no secret.
type chatQuestion struct {
	Name string // of the variable without its prefix
	What string
	Into *string
}

// askSettings asks for the secrets and settings of a chat that are not set yet, and adds the latter to settings. A chat
// that must be called says first at which address.
func (c *chatEntry) askSettings(ctx context.Context, a *cli.App, in *asked, settings map[string]string) (err error) {
	if c.PublicURL != nil {
		a.Note("askbus: %s", c.PublicWhy)
		if *c.PublicURL == "" {
			if *c.PublicURL, err = in.line(ctx, "address at which "+c.Name+" reaches this machine"); err != nil {
				return err
			}
		}
		if err := checkAddress(ctx, *c.PublicURL, c.PublicPlain); err != nil {
			return err
		}
		if c.PublicName != "" {
			settings[c.env()+c.PublicName] = *c.PublicURL
		}
		a.Note("askbus: %s answers", *c.PublicURL)
	}
	for _, s := range c.Secrets {
		if *s.Text != "" || *s.File != "" || slices.Contains(c.Unasked, s.Name) {
			continue
		}
		if *s.Text, err = in.secret(ctx, s.What); err != nil {
			return err
		}
		if *s.Text == "" {
			return cli.Usage("no %s: nothing was entered", s.What)
		}
	}
	for _, q := range c.Questions {
		if *q.Into == "" {
			if *q.Into, err = in.line(ctx, q.What); err != nil {
				return err
			}
		}
		settings[c.env()+q.Name] = *q.Into
	}
	return nil
}

// asked reads what a person enters: at a terminal, or a line of standard input for each.
type asked struct {
	a     *cli.App
	lines *bufio.Reader
}

const maxEntered = 16 << 10

// line asks for one line.
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

// checkAddress checks that a platform may reach an address: it is https, with a certificate that is valid for everybody,
// and something answers there. With plain it may be a server of one's own that calls, without TLS and on this machine.
func checkAddress(ctx context.Context, address string, plain bool) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !plain) || u.Hostname() == "" || u.User != nil {
		return cli.Usage("invalid address %q: give one like https://askbus.example.com", address)
	}
	if loopback(u.Hostname()) && !plain {
		return cli.Usage("others cannot reach %s: give an address that is reachable from outside", u.Host)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return cli.Usage("invalid address %q: %w", address, err)
	}
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w; let a proxy with a certificate lead there to this machine, then run this again", address, err)
	}
	return res.Body.Close()
}
