package deploytest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// binaryDir exists from before the first test until after the last one.
var binaryDir string

// binary builds `make build` once, for the first test that needs it.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "askbus")
	return path, target("build", "BIN="+path)
})

// target runs a target of the Makefile in the root of the repository.
func target(args ...string) error {
	cmd := exec.Command("make", append([]string{"-C", "../..", "--no-print-directory"}, args...)...)
	// Remove the variables of a make that started this test.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "MAKEFLAGS=") || strings.HasPrefix(e, "MFLAGS=") || strings.HasPrefix(e, "MAKELEVEL=")
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make %q: %w\n%s", args, err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	var err error
	if binaryDir, err = os.MkdirTemp("", "askbus-deploytest-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(binaryDir)
	os.Exit(code)
}

func askbus(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	// Remove the settings of this machine.
	cmd.Env = []string{"HOME=" + t.TempDir(), "USER=askbus"}
	return cmd
}

// The program would ignore an unknown variable.
func TestSettingsOfChartAndComposeExist(t *testing.T) {
	t.Parallel()
	out, err := askbus(t, "settings", "--output", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	type setting struct {
		Name string `json:"name"`
	}
	var settings []setting
	if err := json.Unmarshal(out, &settings); err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, s := range compose(t, nil, "slack", "telegram", "teams", "mattermost", "feishu", "discord", "email", "webhook").Services {
		for name := range s.Environment {
			used = append(used, name)
		}
	}
	for _, values := range []string{everything, cluster, webhooks} {
		m, err := render(t.Context(), "askbus", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range m.workloads() {
			for _, e := range w.spec.Containers[0].Env {
				if strings.HasPrefix(e.Name, "ASKBUS_") {
					used = append(used, e.Name)
				}
			}
		}
	}
	if len(used) < 8 {
		t.Fatalf("found only %q", used)
	}
	for _, name := range used {
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.Name == name }) {
			t.Errorf("askbus has no setting %s", name)
		}
	}
}

// A flag that was renamed is found here, and not when a container does not start.
func TestCommandsOfChartAndComposeParse(t *testing.T) {
	t.Parallel()
	commands := map[string][]string{} // by their text: most are in several renderings
	add := func(args []string) { commands[strings.Join(args, " ")] = args }
	for _, s := range compose(t, nil, "slack", "telegram", "teams", "mattermost", "feishu", "discord", "email", "push", "issuer", "webhook").Services {
		add(s.Command)
		if s.HealthCheck != nil && !s.HealthCheck.Disable {
			add(s.HealthCheck.Test[2:]) // CMD /askbus …
		}
	}
	for _, values := range []string{everything, cluster, "shape: cluster", webhooks} {
		m, err := render(t.Context(), "askbus", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range m.workloads() {
			for _, c := range w.spec.Containers {
				if c.Name != "responder" { // another image
					add(c.Args)
				}
			}
		}
	}
	if len(commands) < 20 {
		t.Fatalf("found only %d", len(commands))
	}
	for text, args := range commands {
		if out, err := askbus(t, append(slices.Clone(args), "--help")...).CombinedOutput(); err != nil || !strings.Contains(string(out), "askbus "+args[0]) {
			t.Errorf("askbus %s: %v: %s", text, err, out)
		}
	}
}

// opsURL returns "" until askbus up or server has written it.
func opsURL(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "context.json"))
	if err != nil {
		return ""
	}
	var c struct {
		Ops map[string]string `json:"ops"`
	}
	if json.Unmarshal(data, &c) != nil {
		return ""
	}
	return cmp.Or(c.Ops["up"], c.Ops["server"])
}
