//go:build lint

package linttest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/tools/txtartest"
)

// issue is an issue in golangci-lint's JSON output.
type issue struct {
	FromLinter string `json:"FromLinter"`
	Text       string `json:"Text"`
	Pos        struct {
		Filename string `json:"Filename"`
		Line     int    `json:"Line"`
	} `json:"Pos"`
}

// A comment `// want LINTER: TEXT` in testdata/tree.txtar expects an issue on its line; everything
// else there must pass.
func TestEveryRuleReportsItsViolationAndNothingElse(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir, files := txtartest.Tree(t)
	if err := os.WriteFile(filepath.Join(dir, ".golangci.yml"), config, 0o600); err != nil {
		t.Fatal(err)
	}

	issues := lint(t, root, dir)
	for _, f := range files {
		n := 0
		for line := range strings.Lines(string(f.Data)) {
			n++
			_, want, ok := strings.Cut(line, "// want ")
			if !ok {
				continue
			}
			linter, text, _ := strings.Cut(strings.TrimSpace(want), ": ")
			i := slices.IndexFunc(issues, func(i issue) bool {
				return i.Pos.Filename == f.Name && i.Pos.Line == n && i.FromLinter == linter && strings.Contains(i.Text, text)
			})
			if i < 0 {
				t.Errorf("%s:%d: not reported: %s: %s", f.Name, n, linter, text)
				continue
			}
			issues = slices.Delete(issues, i, i+1)
		}
	}
	for _, i := range issues {
		t.Errorf("%s:%d: reported without need: %s: %s", i.Pos.Filename, i.Pos.Line, i.FromLinter, i.Text)
	}
}

func lint(t *testing.T, root, dir string) []issue {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(root, "tools"), "tool", "-n", "golangci-lint")
	for _, v := range os.Environ() { // as hack/lint builds it
		if !strings.HasPrefix(v, "GOFLAGS=") && !strings.HasPrefix(v, "CGO_ENABLED=") {
			build.Env = append(build.Env, v)
		}
	}
	path, err := build.Output()
	if err != nil {
		t.Fatalf("build golangci-lint: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)),
		"run", "--output.json.path=stdout", "--output.text.path=stderr", "--show-stats=false", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "GOPROXY=off", "GOLANGCI_LINT_CACHE="+t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	// Exit status 1 means issues; any other is a failure.
	if exit := (*exec.ExitError)(nil); err == nil || !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("golangci-lint: %v\n%s", err, errs.String())
	}
	var r struct {
		Issues []issue `json:"Issues"`
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("read the report: %v\n%s", err, out.String())
	}
	return r.Issues
}
