package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// SignedIn is the content of login.json: who is signed in at this terminal by "askbus login URL".
type SignedIn struct {
	Inbox  string `json:"inbox"`
	Secret string `json:"secret"`
	// Credentials by requested tenant; "" is the key without one.
	Credentials map[string]Personal `json:"credentials"`
}

// Personal is a person's credential.
type Personal struct {
	Credential client.Credential `json:"credential"`
	By         ask.By            `json:"by"`
}

// renewBefore is how long before its expiry a credential is replaced.
const renewBefore = 10 * time.Minute

// terminalCommands are the commands that run as the person signed in at this terminal.
var terminalCommands = []string{"tui", "next", "answer", "status", "list"} //nolint:gochecknoglobals // a list

// LoginFile returns the path of login.json.
func LoginFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the directory for the sign-in: %w", err)
	}
	return filepath.Join(dir, "askbus", "login.json"), nil
}

// ReadLogin reads login.json. It returns nil if nobody is signed in.
func ReadLogin() (*SignedIn, error) {
	path, err := LoginFile()
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // no directory: nobody is signed in
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nobody is signed in
	}
	if err != nil {
		return nil, err
	}
	var l SignedIn
	if err := json.Unmarshal(data, &l); err != nil || l.Inbox == "" || !strings.HasPrefix(l.Secret, auth.TerminalSecret) {
		return nil, fmt.Errorf("%s is damaged; sign in again with \"askbus login URL\"", path)
	}
	return &l, nil
}

// Save writes login.json, readable by its owner only.
func (l *SignedIn) Save() error {
	path, err := LoginFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(l, "", "  ") //nolint:gosec // only its owner reads the file
	if err != nil {
		return err
	}
	if err := file.Replace(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("save the sign-in: %w", err)
	}
	return nil
}

// ForgetLogin removes login.json.
func ForgetLogin() error {
	path, err := LoginFile()
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// errSignedOut reports that the sign-in has ended.
var errSignedOut = errors.New("you are signed out")

// personally returns the credential of the person signed in at this terminal, if this command runs
// as that person. A directory or a credential from flags or the environment takes precedence.
//
//nolint:contextcheck,nolintlint // a request to the inbox has its own timeout
func (a *App) personally() (cred client.Credential, ok bool, err error) {
	if !a.asPerson || a.Creds != "" || a.Exchange.URL != "" {
		return cred, false, nil
	}
	if a.dirNamed {
		if ctx, err := ReadContext(a.Dir); err != nil || ctx.Operator != nil {
			return cred, false, nil //nolint:nilerr // the next reader reports it
		}
	}
	l, err := ReadLogin()
	if l == nil || err != nil {
		return cred, false, err
	}
	p, err := l.credential(a.Wanted, false)
	if err != nil {
		return cred, false, err
	}
	a.login, cred = &p.By, p.Credential
	a.HTTP.URL = cmp.Or(a.HTTP.URL, l.Inbox)
	cred.Renew = func() (string, error) { // at each reconnect: the previous one may have been revoked
		l, err := ReadLogin()
		if err == nil && l == nil {
			err = errSignedOut
			a.ended.Store(true)
		}
		if err != nil {
			return "", err
		}
		p, err := l.credential(a.Wanted, true)
		a.ended.Store(errors.Is(err, errSignedOut))
		return p.Credential.Creds, err
	}
	return cred, true, nil
}

// SignedOut reports whether the sign-in has ended with which the command runs.
func (a *App) SignedOut() bool { return a.ended.Load() }

// credential returns the person's credential for a tenant, or for all that they may see. With fresh
// it always asks the inbox. While the inbox is unreachable it returns one that is still valid.
//
//nolint:contextcheck,nolintlint // a request to the inbox has its own timeout
func (l *SignedIn) credential(tenant string, fresh bool) (Personal, error) {
	held, ok := l.Credentials[tenant]
	left := time.Until(held.Credential.Expires)
	if ok && !fresh && left > renewBefore {
		return held, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), ExchangeLimit)
	defer cancel()
	p, err := l.Renew(ctx, tenant)
	switch {
	case err == nil:
		return p, l.Save()
	case ok && left > 0 && !errors.Is(err, errSignedOut):
		return held, nil
	}
	return Personal{}, err
}

// Renew requests a credential from the inbox.
func (l *SignedIn) Renew(ctx context.Context, tenant string) (Personal, error) {
	var t exchange.Terminal
	if err := CallInbox(ctx, l.Inbox, "/credential", l.Secret, map[string]string{"tenant": tenant}, &t); err != nil {
		if e, ok := errors.AsType[*ask.Error](err); ok && e.Code == ask.CodeUnauthorized {
			return Personal{}, fmt.Errorf("%w at %s; sign in again with \"askbus login %s\"", errSignedOut, l.Inbox, l.Inbox)
		}
		return Personal{}, fmt.Errorf("get a credential from %s: %w", l.Inbox, err)
	}
	p := Personal{By: t.By}
	if err := json.Unmarshal(t.Credential, &p.Credential); err != nil || p.Credential.Creds == "" {
		return Personal{}, fmt.Errorf("%s did not return a credential; is it the web inbox of askbus?", l.Inbox)
	}
	if l.Credentials == nil {
		l.Credentials = map[string]Personal{}
	}
	for other, held := range l.Credentials { // drop expired ones of other tenants
		if time.Until(held.Credential.Expires) <= 0 {
			delete(l.Credentials, other)
		}
	}
	l.Credentials[tenant] = p
	return p, nil
}

// Direct returns an HTTP client that follows no redirect: it sends the secret nowhere else.
func Direct() *http.Client {
	return &http.Client{Transport: httpserver.LocalTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// CallInbox sends a terminal's request to a web inbox. The error is an [*ask.Error] if the inbox
// refuses.
func CallInbox(ctx context.Context, inbox, path, secret string, body, into any) error {
	data, err := json.Marshal(body)
	if err == nil {
		data, err = post(ctx, Direct(), inbox+web.TerminalPath+path, secret, data)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// personalAs records what decides whether this command runs as the signed-in person.
func (a *App) personalAs(cmd *cobra.Command) {
	a.asPerson = slices.Contains(terminalCommands, cmd.Name())
	a.dirNamed = cmd.Flags().Changed("dir") || os.Getenv(config.Prefix+"_DIR") != ""
	if cmd.Flags().Changed("tenant") || os.Getenv(config.Prefix+"_TENANT") != "" {
		a.Wanted = a.Tenant
	}
}
