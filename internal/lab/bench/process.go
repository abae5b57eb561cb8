package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// Program returns the command that starts askbus with arguments.
type Program func(ctx context.Context, args ...string) *exec.Cmd

// startPiped starts a command with pipes to its input and from its output.
func startPiped(ctx context.Context, program Program, args ...string) (cmd *exec.Cmd, in io.WriteCloser, out io.Reader, err error) {
	cmd = program(ctx, args...)
	cmd.Stderr = os.Stderr
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, nil, err
	}
	return cmd, in, out, cmd.Start()
}

// process is an askbus process, whose memory is measured.
type process struct {
	dir string
	cmd *exec.Cmd
	ops string
	url string
}

// addresses are the addresses of a running askbus.
type addresses struct {
	NATS string            `json:"nats_url"`
	HTTP string            `json:"http_url"`
	Ops  map[string]string `json:"ops"`
}

// readAddresses reads the context.json of a directory.
func readAddresses(dir string) (at addresses, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "context.json"))
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	return at, err
}

// issueToken issues a token with "askbus token issue" and its further arguments.
func (p *process) issueToken(ctx context.Context, program Program, args ...string) (string, error) {
	out, err := program(ctx, append([]string{"token", "issue", "--dir", p.dir, "--output", "json"}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("bench: issue a token: %w", err)
	}
	var issued struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(out, &issued); err != nil || issued.Token == "" {
		return "", errors.Join(errors.New("bench: askbus token issue printed no token"), err)
	}
	return issued.Token, nil
}

// startProcess starts a command that writes context.json into dir, and waits until its ops address
// reports ready.
func startProcess(ctx context.Context, program Program, dir, role string, args ...string) (*process, error) {
	p := &process{dir: dir, cmd: program(ctx, append(args, "--dir", dir)...)}
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = append(p.cmd.Environ(), "ASKBUS_PPROF=true") // heap and goroutines are read there
	if err := os.Remove(filepath.Join(dir, "context.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start askbus: %w", err)
	}
	err := poll(ctx, 10*time.Minute, "askbus is not ready", func() bool { return p.ready(ctx, role) })
	if err != nil {
		p.kill()
	}
	return p, err
}

// ready reads context.json and checks readiness.
func (p *process) ready(ctx context.Context, role string) bool {
	at, err := readAddresses(p.dir)
	if err != nil || at.Ops[role] == "" {
		return false
	}
	p.url, p.ops = at.NATS, at.Ops[role]
	body, err := p.get(ctx, "/readyz")
	return err == nil && strings.TrimSpace(body) == "ok"
}

func (p *process) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ops+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("bench: %s: %s", path, resp.Status)
	}
	var b strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

// heap returns the memory in use after a collection, by pprof.
func (p *process) heap(ctx context.Context) (int64, error) {
	body, err := p.get(ctx, "/debug/pprof/heap?debug=1&gc=1")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(body) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "# HeapAlloc = "); ok {
			return strconv.ParseInt(v, 10, 64)
		}
	}
	return 0, errors.New("bench: the heap profile has no HeapAlloc")
}

// goroutines returns the number of goroutines, by pprof.
func (p *process) goroutines(ctx context.Context) (int64, error) {
	body, err := p.get(ctx, "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(body, "\n")
	total, ok := strings.CutPrefix(first, "goroutine profile: total ")
	if !ok {
		return 0, errors.New("bench: the goroutine profile has no total")
	}
	return strconv.ParseInt(total, 10, 64)
}

// rss returns the process's resident memory, or 0 if unknown.
func (p *process) rss() int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), "VmRSS"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// cpu returns the processor time of the process, on Linux.
func (p *process) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * time.Second / 100 // clock ticks
}

// disk returns the size of the directory.
func (p *process) disk() (n int64) {
	_ = filepath.WalkDir(p.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // files come and go
	})
	return n
}

// kill kills the process with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // its error is the kill
}

// bed returns the process as a bed without a floor.
func (p *process) bed(tenant string) (*Bed, error) {
	keys, err := rights.LoadIssuer(p.dir)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	b := &Bed{Replicas: 1, Sync: "always", Tenant: tenant, NoFloor: "the bus is a process of its own", run: runID(), log: logger(nil)}
	b.dial = func(r rights.Role) (*nats.Conn, error) {
		c, err := keys.Asserting(p.url, r, assertion.Anything())
		if err != nil {
			return nil, err
		}
		return connection.Connect(c, b.log)
	}
	return b, nil
}
