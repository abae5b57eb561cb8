package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/agent"
)

func TestACPInstallPrintsAndWrites(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	for _, editor := range []string{"zed", "jetbrains", "vscode"} {
		file := filepath.Join(pl.dir, editor)
		install := func(args ...string) (string, string, int) {
			return pl.runWith("", append([]string{"acp", "install", editor, "--file", file}, args...)...)
		}
		printed, said, code := install("--", "claude-agent-acp", "--verbose")
		if code != 0 || !strings.Contains(said, file) || !strings.Contains(printed, `"claude-agent-acp with askbus"`) || !strings.Contains(printed, `"--verbose"`) {
			t.Errorf("%s: exit %d, said %q, printed %s", editor, code, said, printed)
		}
		for _, want := range []string{"Written to", "already up to date"} {
			if _, said, code := install("--write", "--", "claude-agent-acp", "--verbose"); code != 0 || !strings.Contains(said, want) {
				t.Errorf("%s: exit %d, said %q", editor, code, said)
			}
		}
		if written, err := os.ReadFile(file); err != nil || string(written) != printed {
			t.Errorf("%s: wrote %q, %v", editor, written, err)
		}
		if left, said, code := install("--remove", "--name", "claude-agent-acp with askbus"); code != 0 || strings.Contains(left, "claude") || !strings.Contains(said, "add --write") {
			t.Errorf("%s: exit %d, said %q, left %s", editor, code, said, left)
		}
		if _, said, code := install("--remove", "--write", "--", "claude-agent-acp"); code != 0 || !strings.Contains(said, "Removed") {
			t.Errorf("%s: exit %d, said %q", editor, code, said)
		}
	}
	for _, editor := range []string{"codecompanion", "avante"} {
		if printed, _, code := pl.runWith("", "acp", "install", editor, "--", "agent"); code != 0 || !strings.Contains(printed, `"acp"`) || !strings.Contains(printed, `"agent"`) {
			t.Errorf("%s: exit %d, printed %s", editor, code, printed)
		}
		if _, said, code := pl.runWith("", "acp", "install", editor, "--write", "--", "agent"); code != cli.ExitUsage || !strings.Contains(said, "a program") {
			t.Errorf("%s: exit %d, said %q", editor, code, said)
		}
	}
	for _, wrong := range [][]string{{"acp"}, {"acp", "install", "emacs"}, {"acp", "install", "zed"}, {"acp", "--timeout", "1ms", "--", "cat"}, {"acp", "--", "/there/is/none"}} {
		if _, said, code := pl.runWith("", wrong...); code != cli.ExitUsage || said == "" {
			t.Errorf("%q: exit %d, said %q", wrong, code, said)
		}
	}
}

// The agent's exit code becomes ours, and all lines pass without a bus.
func TestACPRunsTheAgent(t *testing.T) {
	t.Parallel()
	pl := place{t: t, dir: t.TempDir()}
	out, said, code := pl.runWith("{\"x\":  1}\n", "acp", "--", "sh", "-c", `read -r line; echo "$line"; echo "${ASKBUS_HOST_CREDS-none}"; exit 7`)
	if code != 7 || out != "{\"x\":  1}\nnone\n" {
		t.Errorf("exit %d: %q, said %q", code, out, said)
	}
}

func TestInstallRejectsGoRunPrograms(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/tmp/go-build123/b001/exe/askbus": true, "/home/mei/go/bin/askbus": false, "/opt/exe/askbus": false, "/tmp/go-build1/b001/askbus.test": false,
	} {
		if agent.Temporary(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
