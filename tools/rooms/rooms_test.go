package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A house in a repository of its own, with this plan and these files.
func build(t *testing.T, plan string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["tools/rooms/rooms.yaml"] = plan
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	init := exec.CommandContext(t.Context(), "git", "init", "-q")
	init.Dir = dir
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return dir
}

const smallPlan = `
module: example.com/bus
rooms:
  - {name: ground, paths: [pkg/ground], holds: types, imports: []}
  - {name: wall, paths: [internal/wall], holds: walls, imports: [ground, internal/roof/beam]}
  - {name: roof, paths: [internal/roof], holds: roofs, imports: [wall]}
  - {name: yard, paths: [internal/yard], holds: tests, tests: true}
apart: [[internal/roof/east, internal/roof/west]]
pure: {packages: [pkg/ground], not: [net], but: [net/url]}
libraries:
  - {imports: [lib.example/big], only: [internal/roof/beam], why: one package has it}
`

func TestEachRuleIsBrokenOnce(t *testing.T) {
	t.Parallel()
	file := func(imports ...string) string {
		return "package x\n\nimport (\n_ \"" + strings.Join(imports, "\"\n_ \"") + "\"\n)\n"
	}
	dir := build(t, smallPlan, map[string]string{
		"go.mod":                       "module example.com/bus\n",
		"pkg/ground/a.go":              file("net/url", "net"),
		"internal/wall/a.go":           file("example.com/bus/pkg/ground", "example.com/bus/internal/roof/beam", "example.com/bus/internal/roof/east"),
		"internal/roof/beam/a.go":      file("lib.example/big/sub"),
		"internal/roof/east/a.go":      file("example.com/bus/internal/roof/beam", "example.com/bus/internal/roof/west"),
		"internal/roof/west/a.go":      "//go:build odd\n\n" + file("lib.example/big"),
		"internal/roof/west/a_test.go": file("example.com/bus/internal/yard", "lib.example/big"),
		"internal/yard/a.go":           file("lib.example/big", "example.com/bus/internal/roof"),
		"internal/shed/a.go":           "package shed\n",
		"tools/go.mod":                 "module example.com/tools\n",
		"tools/x/a.go":                 file("lib.example/big"),
	})
	var out bytes.Buffer
	if err := run(&out, dir, "check", ""); err == nil {
		t.Error("a broken house passes")
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		"internal/roof/east/a.go: imports internal/roof/west: these stand side by side; what they share lies in another package",
		"internal/roof/west/a.go: imports lib.example/big: one package has it",
		"internal/shed: belongs to no room: add it to one of tools/rooms/rooms.yaml",
		"internal/wall/a.go: imports internal/roof/east: wall may import only itself, ground, internal/roof/beam",
		"pkg/ground/a.go: imports net: a package that decides does not act",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestThePictureOmitsWhatFollows(t *testing.T) {
	t.Parallel()
	dir := build(t, smallPlan, map[string]string{
		"go.mod":               "module example.com/bus\n",
		"pkg/ground/a.go":      "package ground\n",
		"internal/wall/a.go":   "package wall\n\nimport _ \"example.com/bus/pkg/ground\"\n",
		"internal/roof/b/a.go": "package b\n\nimport (\n_ \"example.com/bus/internal/wall\"\n_ \"example.com/bus/pkg/ground\"\n)\n",
		"docs/architecture.md": "before\n" + begin + "old\n" + end + "after\n",
	})
	for range 2 {
		if err := run(os.Stdout, dir, "draw", ""); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "  roof --> wall\n", "  wall --> ground\n", "of 3, these", "| `internal/roof` | roofs | b |\n", end + "after\n"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, not := range []string{"old\n", "roof --> ground"} {
		if strings.Contains(string(page), not) {
			t.Errorf("the page has %q:\n%s", not, page)
		}
	}
	var out bytes.Buffer
	if err := run(&out, dir, "lines", ""); err != nil || !strings.Contains(out.String(), "what ships") {
		t.Errorf("lines: %v\n%s", err, out.String())
	}
	out.Reset()
	if err := run(&out, dir, "lines", "internal/roof"); err != nil || !strings.Contains(out.String(), "internal/roof") || strings.Contains(out.String(), "internal/wall") {
		t.Errorf("lines of a folder: %v\n%s", err, out.String())
	}
}
