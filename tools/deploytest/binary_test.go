package deploytest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binaryDir is there before the first test and gone after the last one.
var binaryDir string

// binary builds askbus for the first test that runs it.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "askbus")
	if out, err := exec.Command("go", "-C", "../..", "build", "-o", path, "./cmd/askbus").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build askbus: %w\n%s", err, out)
	}
	return path, nil
})

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
	// Nothing of this machine's settings.
	cmd.Env = []string{"HOME=" + t.TempDir(), "USER=askbus"}
	return cmd
}

// A variable that the program does not know would be ignored.
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
	for name := range compose(t, nil).Environment {
		used = append(used, name)
	}
	m, err := render(t.Context(), "askbus", everything)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.sets[0].Spec.Template.Spec.Containers[0].Env {
		if strings.HasPrefix(e.Name, "ASKBUS_") {
			used = append(used, e.Name)
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

// The command of the image, on free ports: it starts, its health check agrees,
// and SIGTERM ends it well.
func TestCommandOfTheImageServesAndDrains(t *testing.T) {
	t.Parallel()
	image := readDockerfile(t)
	dir := t.TempDir()
	args := slices.Clone(image.command)
	for i, a := range args {
		switch {
		case a == image.volume:
			args[i] = dir
		case strings.HasPrefix(a, "0.0.0.0:"):
			args[i] = "127.0.0.1:0"
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var log bytes.Buffer
	up := askbus(t, args...)
	up.Stdout, up.Stderr = &log, &log
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- up.Wait() }()

	ops := ""
	for ops == "" || askbus(t, replaced(image.health[1:], ops)...).Run() != nil {
		select {
		case err := <-ended:
			t.Fatalf("askbus %q ended: %v\n%s", args, err, log.String())
		case <-ctx.Done():
			t.Fatal("askbus up is not healthy after a minute")
		case <-time.After(50 * time.Millisecond):
		}
		ops = opsURL(dir)
	}
	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("after SIGTERM: %v\n%s", err, log.String())
		}
	case <-ctx.Done():
		t.Error("SIGTERM does not end it")
	}
	if askbus(t, replaced(image.health[1:], ops)...).Run() == nil {
		t.Error("the health check also passes when nobody is there")
	}
}

// replaced puts the address that was bound into the health check.
func replaced(health []string, ops string) []string {
	return append(slices.Clone(health[:len(health)-1]), ops)
}

// opsURL is empty until askbus up has written it.
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
	return c.Ops["up"]
}
