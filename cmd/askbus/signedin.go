package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/auth"
	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/exchange"
	"github.com/askbus/askbus/internal/web"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// signedIn is who is signed in at this terminal by "askbus login URL": what lies
// in login.json.
type signedIn struct {
	Inbox  string `json:"inbox"`
	Secret string `json:"secret"`
	// Credentials by the tenant that was asked for; empty: none was.
	Credentials map[string]personal `json:"credentials"`
}

// personal is a person's credential.
type personal struct {
	Credential client.Credential `json:"credential"`
	By         ask.By            `json:"by"`
}

// renewBefore is how long before its end a credential is replaced.
const renewBefore = 10 * time.Minute

// terminalCommands are the commands that a person uses as who is signed in.
var terminalCommands = []string{"tui", "next", "answer", "status", "list"} //nolint:gochecknoglobals // a list

// loginFile is where it lies.
func loginFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no place for the sign-in: %w", err)
	}
	return filepath.Join(dir, "askbus", "login.json"), nil
}

// readLogin reads who is signed in; nobody is not an error.
func readLogin() (*signedIn, error) {
	path, err := loginFile()
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // no place, so nobody is
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nobody is
	}
	if err != nil {
		return nil, err
	}
	var l signedIn
	if err := json.Unmarshal(data, &l); err != nil || l.Inbox == "" || !strings.HasPrefix(l.Secret, auth.TerminalSecret) {
		return nil, fmt.Errorf("%s is damaged; sign in again with \"askbus login URL\"", path)
	}
	return &l, nil
}

// save writes it where only its owner reads it.
func (l *signedIn) save() error {
	path, err := loginFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(l, "", "  ") //nolint:gosec // the file is its person's alone
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "login.json.*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // of no use
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	return nil
}

// forgetLogin removes the file.
func forgetLogin() error {
	path, err := loginFile()
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// errSignedOut is told to somebody whose sign-in has ended.
var errSignedOut = errors.New("you are signed out")

// personally is the credential of who is signed in at this terminal, when this
// command is one that they use as themselves and nothing else was said: a
// directory or a credential that is named goes first.
//
//nolint:contextcheck,nolintlint // it may ask the inbox, which has a limit of its own
func (a *app) personally() (cred client.Credential, ok bool, err error) {
	if !a.asPerson || a.Creds != "" || a.Exchange.URL != "" {
		return cred, false, nil
	}
	if a.dirNamed {
		if ctx, err := config.ReadContext(a.Dir); err != nil || ctx.Operator != nil {
			return cred, false, nil //nolint:nilerr // the next reader says so
		}
	}
	l, err := readLogin()
	if l == nil || err != nil {
		return cred, false, err
	}
	p, err := l.credential(a.wanted, false)
	if err != nil {
		return cred, false, err
	}
	a.login, cred = &p.By, p.Credential
	if a.HTTP.URL == "" {
		a.HTTP.URL = l.Inbox
	}
	cred.Renew = func() (string, error) { // at each reconnect: the one before may have been revoked
		l, err := readLogin()
		if err == nil && l == nil {
			err = errSignedOut
		}
		if err != nil {
			return "", err
		}
		p, err := l.credential(a.wanted, true)
		return p.Credential.Creds, err
	}
	return cred, true, nil
}

// credential is the person's credential for a tenant, or for all that they may
// see. Fresh asks the inbox in any case. One that is still good is used while the
// inbox cannot be reached.
//
//nolint:contextcheck,nolintlint // the inbox has a limit of its own
func (l *signedIn) credential(tenant string, fresh bool) (personal, error) {
	held, ok := l.Credentials[tenant]
	left := time.Until(held.Credential.Expires)
	if ok && !fresh && left > renewBefore {
		return held, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), exchangeLimit)
	defer cancel()
	p, err := l.renew(ctx, tenant)
	switch {
	case err == nil:
		return p, l.save()
	case ok && left > 0 && !errors.Is(err, errSignedOut):
		return held, nil
	}
	return personal{}, err
}

// renew gets a credential from the inbox.
func (l *signedIn) renew(ctx context.Context, tenant string) (personal, error) {
	var t exchange.Terminal
	if err := callInbox(ctx, l.Inbox, "/credential", l.Secret, map[string]string{"tenant": tenant}, &t); err != nil {
		if e, ok := errors.AsType[*ask.Error](err); ok && e.Code == ask.CodeUnauthorized {
			return personal{}, fmt.Errorf("%w at %s; sign in again with \"askbus login %s\"", errSignedOut, l.Inbox, l.Inbox)
		}
		return personal{}, fmt.Errorf("get a credential from %s: %w", l.Inbox, err)
	}
	p := personal{By: t.By}
	if err := json.Unmarshal(t.Credential, &p.Credential); err != nil || p.Credential.Creds == "" {
		return personal{}, fmt.Errorf("%s does not answer with a credential; is it the web inbox of askbus?", l.Inbox)
	}
	if l.Credentials == nil {
		l.Credentials = map[string]personal{}
	}
	for other, held := range l.Credentials { // those of tenants that were used once
		if time.Until(held.Credential.Expires) <= 0 {
			delete(l.Credentials, other)
		}
	}
	l.Credentials[tenant] = p
	return p, nil
}

// callInbox asks a web inbox something as a terminal. The error is an
// [*ask.Error] when the inbox refuses.
func callInbox(ctx context.Context, inbox, path, secret string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, inbox+web.TerminalPath+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	asker := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // a secret goes nowhere else
	res, err := asker.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	data, err = io.ReadAll(io.LimitReader(res.Body, maxCredential))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		if e := wire.DecodeProblem(data); e != nil {
			return e
		}
		return fmt.Errorf("%s answers %s; is it the web inbox of askbus?", inbox, res.Status)
	}
	return json.Unmarshal(data, into)
}

// personalAs notes what decides whether this command is used as who is signed in.
func (a *app) personalAs(cmd *cobra.Command) {
	a.asPerson = slices.Contains(terminalCommands, cmd.Name())
	a.dirNamed = cmd.Flags().Changed("dir") || os.Getenv(config.Prefix+"_DIR") != ""
	if cmd.Flags().Changed("tenant") || os.Getenv(config.Prefix+"_TENANT") != "" {
		a.wanted = a.Tenant
	}
}
