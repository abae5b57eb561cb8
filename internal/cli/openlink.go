package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// SignInLimit limits how long a terminal waits for the person to confirm.
const SignInLimit = 10 * time.Minute

// OpenSecret opens a URL with a secret in the person's browser: a new file, page, that only this
// user can read leads there. The file is removed when used signals, after ten minutes, when the
// secret has expired, and when ctx ends. The caller removes it as well when the process ends, and
// has printed the URL for those whose browser does not open.
func (a *App) OpenSecret(ctx context.Context, page, url string, used <-chan struct{}) {
	if err := WriteLeading(page, url); err != nil {
		a.Note("askbus: warning: the browser is not opened: %v", err)
		return
	}
	OpenBrowser(ctx, page)
	go func() {
		select {
		case <-used:
		case <-time.After(SignInLimit):
		case <-ctx.Done():
		}
		_ = os.Remove(page) // its secret is used or expired
	}()
}

// leading is a page that goes to a URL at once.
//
//nolint:gochecknoglobals // made once, never changed
var leading = template.Must(template.New("").Parse(`<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url={{.}}">
<title>askbus</title><p><a href="{{.}}">askbus</a>
`))

// WriteLeading writes a page that leads to a URL to a new file that only this user can read.
func WriteLeading(path, url string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(leading.Execute(f, url), f.Close())
}

// SignInPage returns a new name of a file that browsers of this user can read: in dir, or, if
// browsers may be snaps, which read only what is not hidden, in the home directory.
func SignInPage(dir string) string {
	if _, err := os.Stat("/snap/bin"); err == nil {
		if home, err := os.UserHomeDir(); err == nil {
			dir = home
		}
	}
	if full, err := filepath.Abs(dir); err == nil {
		dir = full // a browser that runs already has another working directory
	}
	return filepath.Join(dir, "askbus-sign-in-"+strings.ToLower(rand.Text()[:8])+".html")
}
