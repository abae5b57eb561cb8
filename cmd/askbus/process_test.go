package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/command"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// asMain makes this test binary behave as the program that it names: askbus, or askbus-lab.
const asMain = "ASKBUS_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	_ = os.Getenv("TEST_TREE") // tests build programs: see hack/test
	switch os.Getenv(asMain) {
	case "":
	case "askbus-lab":
		os.Exit(command.Program().Execute(context.Background(), os.Args[1:]))
	default:
		os.Exit(Main())
	}
	_ = os.Setenv("ASKBUS_UNDO", "0") // answers are sent at once, unless a test is about that
	code := browsertest.Main(m)
	removePlain()
	os.Exit(code)
}

// serves are the commands that run until they are told to stop.
var serves = []string{"up", "server", "broker", "web", "gateway", "issuer", "ssh", "slack", "telegram", "discord", "teams", "mattermost", "feishu", "email", "webhooks", "audit"}

// programOf returns what runs a command line of askbus, or of askbus-lab.
func programOf(t *testing.T, args []string) (path, name string) {
	t.Helper()
	switch {
	case len(args) > 0 && (args[0] == "bench" || args[0] == "torture"):
		return plain(t, "askbus-lab"), "askbus-lab"
	case len(args) > 0 && slices.Contains(serves, args[0]):
		return self(t), "askbus"
	default:
		return plain(t, "askbus"), "askbus"
	}
}

// self is this test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// process is a running askbus.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *output
	err  *output
	done chan struct{}
}

// output collects a process's output and wakes the tests that wait for a text.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
	end  bool
}

func (o *output) copy(r io.Reader) {
	br := bufio.NewReader(r)
	for {
		chunk := make([]byte, 4096)
		n, err := br.Read(chunk)
		o.mu.Lock()
		o.buf.Write(chunk[:n])
		o.end = err != nil
		close(o.more)
		o.more = make(chan struct{})
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// wait waits for a text in the output.
func (o *output) wait(t *testing.T, text string) string {
	t.Helper()
	limit := time.After(waittest.Limit)
	for {
		o.mu.Lock()
		got, more, end := o.buf.String(), o.more, o.end
		o.mu.Unlock()
		if strings.Contains(got, text) {
			return got
		}
		if end {
			t.Fatalf("the process ended without printing %q; it printed:\n%s", text, got)
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("no %q after %s; it printed:\n%s", text, waittest.Limit, got)
		}
	}
}

// start starts askbus.
func start(t *testing.T, stdin string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, stdin, args...)
}

// startWith starts askbus with additional environment variables.
func startWith(t *testing.T, env []string, stdin string, args ...string) *process {
	t.Helper()
	return startFrom(t, strings.NewReader(stdin), env, args...)
}

// startBinary starts an askbus of another version.
func startBinary(t *testing.T, bin string, args ...string) *process {
	t.Helper()
	return startReading(t, bin, nil, strings.NewReader(""), args...)
}

// startFrom starts askbus with the given standard input.
func startFrom(t *testing.T, stdin io.Reader, env []string, args ...string) *process {
	t.Helper()
	bin, _ := programOf(t, args)
	return startReading(t, bin, env, stdin, args...)
}

func startReading(t *testing.T, bin string, env []string, stdin io.Reader, args ...string) *process {
	t.Helper()
	p := &process{t: t, out: &output{more: make(chan struct{})}, err: &output{more: make(chan struct{})}, done: make(chan struct{})}
	p.cmd = exec.Command(bin, args...)
	_, program := programOf(t, args)
	p.cmd.Env = append(os.Environ(), asMain+"="+program, "ASKBUS_LOG_LEVEL=info")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdin = stdin
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	var copied sync.WaitGroup
	copied.Go(func() { p.out.copy(outR) })
	copied.Go(func() { p.err.copy(errR) })
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		_ = outW.Close()
		_ = errW.Close()
		copied.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() && p.err.String() != "" {
			t.Logf("askbus %s said:\n%s", strings.Join(args, " "), p.err.String())
		}
	})
	return p
}

// kill ends a process with SIGKILL.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
}

// stop ends a process with SIGTERM and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

// wait waits for the end of a process and returns its exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(waittest.Limit):
		p.t.Fatalf("askbus %v does not end; it said:\n%s%s", p.cmd.Args[1:], p.out, p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// place is a directory with a bus.
type place struct {
	t   *testing.T
	dir string
}

// up starts "askbus up" in a fresh directory.
func up(t *testing.T, extra ...string) (place, *process) {
	t.Helper()
	pl := place{t, filepath.Join(t.TempDir(), "state")}
	return pl, pl.up(extra...)
}

func (pl place) up(extra ...string) *process {
	pl.t.Helper()
	p := start(pl.t, "", append([]string{"up", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open"}, extra...)...)
	p.out.wait(pl.t, "askbus is up.")
	return p
}

// run runs a command and returns its standard output, standard error and exit code.
func (pl place) run(args ...string) (stdout, stderr string, code int) {
	pl.t.Helper()
	return pl.runWith("", args...)
}

func (pl place) runWith(stdin string, args ...string) (stdout, stderr string, code int) {
	pl.t.Helper()
	p := start(pl.t, stdin, append(args, "--dir", pl.dir)...)
	code = p.wait()
	return p.out.String(), p.err.String(), code
}

// must runs a command, checks its exit code and decodes its JSON.
func (pl place) must(code int, args ...string) map[string]any {
	pl.t.Helper()
	stdout, stderr, got := pl.run(args...)
	if got != code {
		pl.t.Fatalf("askbus %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	if strings.TrimSpace(stdout) == "" {
		return nil
	}
	return decode(pl.t, stdout)
}

func (pl place) context() cli.Context {
	pl.t.Helper()
	c, err := cli.ReadContext(pl.dir)
	if err != nil {
		pl.t.Fatal(err)
	}
	return c
}

func decode(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, s)
	}
	return v
}
