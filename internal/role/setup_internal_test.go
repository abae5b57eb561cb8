package role

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/askbus/askbus/internal/asking/install"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
)

//nolint:paralleltest // it sets PATH
func TestAgentsOnThePathAreFound(t *testing.T) {
	home := t.TempDir()
	for _, program := range []string{"claude", "codex", "goose", "unknown"} {
		if err := os.WriteFile(filepath.Join(home, program), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", home)
	a := &cli.App{}
	a.Dir = config.DefaultDir()
	f := firstSteps{a, install.Place{Home: home, Dir: home, Config: filepath.Join(home, ".config"), OS: "linux"}}
	want := map[string]string{"claude-code": "askbus hook install --write", "codex": "askbus mcp install codex --write", "goose": "askbus mcp install goose"}
	found := f.Agents()
	for _, a := range found {
		if a.Command != want[a.Name] || a.Connected || a.ByHand != (a.Name == "goose") {
			t.Errorf("%+v", a)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d agents: %+v", len(found), found)
	}
	codex, _ := install.Lookup("codex")
	if _, err := install.Edit(codex.File(f.place), func(text string) (string, error) {
		return codex.Set(text, install.Command{Path: "askbus", Args: []string{"mcp"}})
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := install.Edit(filepath.Join(home, ".claude", "settings.json"), func(text string) (string, error) {
		return install.SetHook(text, install.Hook{Command: "askbus hook --mode race", Seconds: 60})
	}); err != nil {
		t.Fatal(err)
	}
	for _, a := range f.Agents() {
		if a.Connected != (a.Name != "goose") {
			t.Errorf("connected: %+v", a)
		}
	}
	for _, name := range []string{"goose", "gemini", "--help", ""} {
		if _, err := f.Connect(t.Context(), name); err == nil {
			t.Errorf("%q is connected", name)
		}
	}
}
