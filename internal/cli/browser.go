package cli

import (
	"context"
	"os/exec"
	"runtime"
)

// OpenBrowser opens a URL in the person's browser. Every user of the machine can read the arguments
// of processes: use [App.OpenSecret] for a URL with a secret.
func OpenBrowser(ctx context.Context, url string) {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	if path, err := exec.LookPath(name); err == nil {
		_ = exec.CommandContext(ctx, path, url).Start() //nolint:gosec // our own link; we do not wait for the browser
	}
}
