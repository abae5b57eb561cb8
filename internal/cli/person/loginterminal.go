package person

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// signIn signs this terminal in at a web inbox, where its person confirms in a browser. The
// returned code, sent to a loopback address or typed, is useless without the verifier, which this
// process keeps until it redeems the code.
func signIn(a *cli.App, cmd *cobra.Command, address string, noBrowser bool) error {
	inbox, err := inboxAddress(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), cli.SignInLimit, errors.New("not confirmed within 10 minutes; start again"))
	defer cancel()
	if err := reached(ctx, inbox); err != nil {
		return err
	}
	verifier := rand.Text() + rand.Text()
	t := web.TerminalRequest{Challenge: auth.Challenge(verifier), Client: thisTerminal(), Tenant: a.Wanted}
	codes := make(chan string, 1)
	remote := os.Getenv("SSH_CONNECTION") != ""
	if !remote {
		end, err := awaitCode(ctx, &t, codes)
		if err != nil {
			return err
		}
		defer end()
	}
	path, err := t.Path()
	if err != nil {
		return err
	}
	a.Note("Open this link in a browser, sign in there if you are not, and confirm:\n\n  %s\n", inbox+path)
	if !noBrowser && !remote && cli.IsTerminal(a.Stderr) {
		dir, err := cli.LoginFile()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(dir), 0o700)
		}
		if err != nil {
			return err
		}
		page := cli.SignInPage(filepath.Dir(dir))
		defer os.Remove(page) //nolint:errcheck // usually written
		a.OpenSecret(ctx, page, inbox+path, nil)
	}
	if t.Port != 0 {
		a.Note("If the browser is on another machine, choose the code there and type it here.")
	}
	fmt.Fprint(a.Stderr, "Code: ")
	go func() {
		code := typedCode(ctx, cmd.InOrStdin())
		if code == "" && (!remote || ctx.Err() != nil) {
			return // the browser may still call back
		}
		select {
		case codes <- code:
		default: // a code is already there
		}
	}()
	l := &cli.SignedIn{Inbox: inbox}
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Stderr)
		return context.Cause(ctx)
	case code := <-codes:
		fmt.Fprintln(a.Stderr)
		if code == "" {
			return errors.New("no code was typed: standard input has ended")
		}
		var got struct {
			Secret string `json:"secret"`
		}
		if err := cli.CallInbox(ctx, inbox, "/token", "", map[string]string{"code": code, "verifier": verifier}, &got); err != nil {
			return fmt.Errorf("sign in at %s: %w", inbox, err)
		}
		l.Secret = got.Secret
	}
	p, err := l.Renew(ctx, a.Wanted)
	if err != nil {
		_ = cli.CallInbox(ctx, inbox, "/logout", l.Secret, struct{}{}, new(struct{})) // unusable without the file
		return err
	}
	if before, err := cli.ReadLogin(); err == nil && before != nil { // the file no longer names it
		_ = cli.CallInbox(ctx, before.Inbox, "/logout", before.Secret, struct{}{}, new(struct{})) // it expires by itself
	}
	if err := l.Save(); err != nil {
		return err
	}
	return printSignedIn(a, l, &p)
}

// inboxAddress returns the base URL of a web inbox to which secrets may be sent: over TLS, or on
// this machine.
func inboxAddress(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return "", cli.Usage("invalid web inbox address %q: use one such as https://ask.example.com", text)
	case u.Scheme == "http" && !httpserver.LoopbackHost(u.Host) && !httpserver.LocalName(u.Host):
		return "", cli.Usage("%s is not safe: anybody on the network path could answer as you; use https://", text)
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", cli.Usage("give only the address of the web inbox: %s://%s", u.Scheme, u.Host)
	}
	return u.Scheme + "://" + u.Host, nil
}

// reached checks that a web inbox, or a proxy before it, answers at an address, before a person is sent there.
func reached(ctx context.Context, inbox string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, inbox+web.TerminalPath+"/token", nil)
	if err != nil {
		return err
	}
	res, err := cli.Direct().Do(req)
	if err != nil {
		return fmt.Errorf("no web inbox answers at %s: %w", inbox, errors.Unwrap(err)) // without the method
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusNotFound {
		return err
	}
	return fmt.Errorf("what answers at %s is no web inbox; give the address at which you open yours in a browser", inbox)
}

// thisTerminal describes this terminal for the confirmation page.
func thisTerminal() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return ask.CleanLine(strings.TrimPrefix(cli.LocalUser(nil).Principal, "os:") + "@" + host)
}

// awaitCode listens for the browser on a loopback address until end is called.
func awaitCode(ctx context.Context, t *web.TerminalRequest, codes chan<- string) (end func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	tcp, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(fmt.Errorf("listening on %s, which is not a TCP address", ln.Addr()), ln.Close())
	}
	t.Port, t.State = tcp.Port, rand.Text()
	srv := &http.Server{ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		q := r.URL.Query()
		if r.URL.Path != "/" || r.Method != http.MethodGet || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(t.State)) != 1 || q.Get("code") == "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<!doctype html><title>askbus</title><p>This is not the sign-in that the terminal is waiting for.") // the browser may be gone
			return
		}
		select {
		case codes <- q.Get("code"):
		default: // a code is already there
		}
		_, _ = io.WriteString(w, "<!doctype html><title>askbus</title><p>Your terminal has the code. Continue there; you can close this page.") // likewise
	})}
	go srv.Serve(ln) //nolint:errcheck // it returns when closed
	return func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = srv.Shutdown(grace) // after the page is written
	}, nil
}

// typedCode reads a code that the person types, and skips empty lines. It returns "" when the input
// or ctx ends.
func typedCode(ctx context.Context, in io.Reader) string {
	lines := prompt.Read(in)
	for {
		text, err := lines.Next(ctx)
		if err != nil {
			return ""
		}
		if text = strings.ToUpper(strings.Map(withoutSpace, text)); text != "" {
			return text
		}
	}
}

func withoutSpace(r rune) rune {
	if r == ' ' || r == '\t' || r == '-' {
		return -1
	}
	return r
}

// printSignedIn prints who is signed in.
func printSignedIn(a *cli.App, l *cli.SignedIn, p *cli.Personal) error {
	path, err := cli.LoginFile()
	if err != nil {
		return err
	}
	if a.JSON() {
		return a.TellJSON(map[string]any{"inbox": l.Inbox, "by": p.By, "name": p.Credential.Name, "nats_url": p.Credential.URL, "file": path})
	}
	a.Note("%s is signed in at this terminal (%s), at %s.", p.By.Name, p.By.Principal, l.Inbox)
	if len(p.By.Groups) > 0 {
		a.Note("Groups: %s", strings.Join(p.By.Groups, ", "))
	}
	a.Note("Try \"askbus tui\". The sign-in is stored in %s; \"askbus logout\" ends it.", path)
	return nil
}

// LogoutCmd is "askbus logout".
func LogoutCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Sign this terminal out of the web inbox at which it signed in", Args: cobra.NoArgs,
		Example: "  askbus logout",
		Long: `Signs this terminal out: the inbox ends its sign-in, its credentials are revoked, and
askbus/login.json in the configuration directory is removed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := cli.ReadLogin()
			if err != nil {
				return errors.Join(err, cli.ForgetLogin())
			}
			if l == nil {
				a.Note("nobody is signed in at this terminal")
				return nil
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), cli.ExchangeLimit)
			defer cancel()
			told := cli.CallInbox(ctx, l.Inbox, "/logout", l.Secret, struct{}{}, new(struct{}))
			if err := cli.ForgetLogin(); err != nil {
				return err
			}
			if told != nil {
				return fmt.Errorf("the sign-in is removed here, but not at %s: %w; sign out in the browser there as well", l.Inbox, told)
			}
			a.Note("signed out of %s", l.Inbox)
			return nil
		},
	}
}
