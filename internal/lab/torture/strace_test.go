package torture_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/lab/torture"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// strace shows that a server syncs data before it acknowledges it.
func TestAcknowledgementsComeAfterTheirSync(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("strace is Linux's")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace; hack/deps installs it")
	}
	t.Parallel()
	dir, bin := t.TempDir(), binary(t)
	trace, addr := filepath.Join(dir, "trace"), free(t)
	server := child(t, "strace", "-f", "-tt", "-y", "-s", "4000", "-e", "trace=write,writev,pwrite64,fsync,fdatasync", "-o", trace,
		bin, "server", "--dir", dir, "--nats-addr", addr, "--ops-addr", "127.0.0.1:0")
	bus := &torture.Given{URL: "nats://" + addr, Issuer: awaitKeys(t, dir, addr)}
	agent := connect(t, bus, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"})
	broker := child(t, bin, "broker", "--dir", dir, "--nats-url", "nats://"+addr, "--ops-addr", "127.0.0.1:0", "--partitions", "1")

	own, err := client.New(agent, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := own.Session("acme", "s1")
	st, err := c.Ask(t.Context(), ask.Ask{ID: "traced-ask", Timeout: time.Hour, Questions: []ask.Question{{ID: "q", Kind: ask.KindBoolean, Text: "traced question?"}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := responder.New(connect(t, bus, rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: st.ID}, ask.Reply{
		AnswerID: "traced-answer", By: ask.By{Principal: "os:mei"}, Answers: []ask.Answer{{QuestionID: "q", Boolean: &yes}},
	}); err != nil {
		t.Fatal(err)
	}
	end(broker)
	end(server)

	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lines := calls(string(data))
	checkOrder(t, lines, "traced question?") // first in the record of the question
	checkOrder(t, lines, "traced-answer")    // only in that of the outcome
}

// checkOrder checks that the record with a text is written to a block file, that the file is
// synced, and that the stream acknowledges to the broker only then.
func checkOrder(t *testing.T, lines []string, text string) {
	t.Helper()
	stored := index(lines, 0, func(l string) bool {
		return strings.Contains(l, ".blk>") && strings.Contains(l, "write") && strings.Contains(l, text)
	})
	if stored < 0 {
		t.Fatalf("%s is in no write to a block file", text)
	}
	synced := index(lines, stored, func(l string) bool {
		return strings.Contains(l, "sync(") && strings.Contains(l, ".blk>") && strings.HasSuffix(l, "= 0")
	})
	if synced < 0 {
		t.Fatalf("%s is never synced", text)
	}
	acked := index(lines, stored, func(l string) bool {
		return strings.Contains(l, "socket:") && strings.Contains(l, `\"stream\":\"ASKS_00\"`) && strings.Contains(l, `\"seq\":`)
	})
	if acked < 0 {
		t.Fatalf("%s is never acknowledged", text)
	}
	if acked < synced {
		t.Fatalf("%s is acknowledged before it is synced:\n%s\n%s", text, lines[acked], lines[synced])
	}
	t.Logf("stored  %.110s\nsynced  %.110s\nacked   %.110s", lines[stored], lines[synced], lines[acked])
}

var thread = regexp.MustCompile(`^(\d+) +(\S+ )`)

// calls returns the system calls in the order in which they ended; it joins interrupted calls.
func calls(trace string) []string {
	var out []string
	open := map[string]string{}
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		m := thread.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		rest := line[len(m[0]):]
		switch {
		case strings.Contains(line, "<unfinished ...>"):
			open[m[1]] = strings.TrimSuffix(rest, "<unfinished ...>")
		case strings.HasPrefix(rest, "<... "):
			_, tail, _ := strings.Cut(rest, "resumed>")
			out = append(out, m[2]+open[m[1]]+tail)
		default:
			out = append(out, m[2]+rest)
		}
	}
	return out
}

func index(lines []string, from int, f func(string) bool) int {
	for i := from; i < len(lines); i++ {
		if f(lines[i]) {
			return i
		}
	}
	return -1
}

func free(t *testing.T) string {
	t.Helper()
	addrs, err := freeaddr.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}

// child starts a process that ends with the test.
func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(cmd) })
	return cmd
}

// end ends a child and its children.
func end(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
	}
}

// awaitKeys waits until a server listens, and opens its keys.
func awaitKeys(t *testing.T, dir, addr string) *rights.Issuer {
	t.Helper()
	for t.Context().Err() == nil {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		conn.Close()
		if keys, err := rights.LoadIssuer(dir); err == nil {
			return keys // missing if the server only tested the port
		}
	}
	t.Fatal(fmt.Errorf("no server at %s", addr))
	return nil
}

func connect(t *testing.T, bus torture.Bus, r rights.Role) *nats.Conn {
	t.Helper()
	cred, err := bus.Credential(r)
	if err != nil {
		t.Fatal(err)
	}
	for {
		nc, err := client.Connect(cred, nil)
		if err == nil {
			t.Cleanup(nc.Close)
			return nc
		}
		if t.Context().Err() != nil || !errors.Is(err, nats.ErrNoServers) { // a traced server takes its time
			t.Fatal(err)
		}
	}
}
