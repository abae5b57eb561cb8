package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

// With another role's credential a process would run, be denied everything and serve nobody.
func TestAProcessRefusesAnotherRolesCredential(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	dir := t.TempDir()
	elsewhere := place{t, filepath.Join(dir, "elsewhere")}
	for name, args := range map[string][]string{
		"gateway": {"gateway"}, "web": {"responder", "--type", "web"}, "slack": {"responder", "--type", "slack"}, "operator": {"operator"},
	} {
		text, stderr, code := pl.run(append(append([]string{"auth"}, args...), "--output", "json")...)
		if code != 0 || os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) != nil {
			t.Fatalf("%s: exit %d: %s", name, code, stderr)
		}
	}
	for args, needs := range map[string]string{
		"web --creds gateway":   "responder --type web",
		"web --creds slack":     "responder --type web",
		"gateway --creds web":   "gateway",
		"push --creds operator": "responder --type push",
	} {
		command := strings.Fields(args)
		command[2] = filepath.Join(dir, command[2])
		if _, stderr, code := elsewhere.run(command...); code != cli.ExitUsage || !strings.Contains(stderr, "\"askbus auth "+needs+"\" prints one that may") {
			t.Errorf("%s: exit %d: %s", args, code, stderr)
		}
	}
}
