// Package interop_test runs unmodified foreign clients against a real askbus.
package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// binary is askbus as it ships, built once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "askbus-interop")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "askbus")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "../cmd/askbus").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	_ = os.Getenv("TEST_TREE") // tests build programs: see hack/test
	code := browsertest.Main(m)
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	if installedDir != "" {
		_ = os.RemoveAll(installedDir)
	}
	os.Exit(code)
}

// bus is a running "askbus up" and a person at a screen of it.
type bus struct {
	t      *testing.T
	binary string
	dir    string
	url    string
	pages  string // address of the inbox for browsers
	screen *responder.Responder
	asked  chan ask.Record
	ended  chan ask.Record
}

func up(t *testing.T) *bus { t.Helper(); return upWith(t, nil) }

// upWith starts a bus with additional environment variables and arguments. Of a
// flag that is given twice, the second counts.
func upWith(t *testing.T, env []string, args ...string) *bus {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	b := &bus{t: t, binary: path, dir: t.TempDir(), asked: make(chan ask.Record, 100), ended: make(chan ask.Record, 100)}
	cmd := exec.Command(path, append([]string{"up", "--dir", b.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("askbus up: %v", err)
		}
	})
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("askbus up did not say that it is: %v", err)
		}
		if strings.Contains(line, "askbus is up") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	b.attend()
	return b
}

// attend puts a person at a screen.
func (b *bus) attend() {
	b.t.Helper()
	where, err := cli.ReadContext(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	b.url = where.HTTPURL
	link, err := exec.Command(b.binary, "login", "--dir", b.dir, "--output", "text").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	b.pages, _, _ = strings.Cut(strings.TrimSpace(string(link)), "/login")
	said, err := exec.Command(b.binary, "auth", "responder", "--type", "web", "--dir", b.dir, "--output", "json").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	var screen client.Credential
	if err := json.Unmarshal(said, &screen); err != nil {
		b.t.Fatal(err)
	}
	nc, err := client.Connect(screen, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	if b.screen, err = responder.New(nc, "web", responder.Options{}); err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	synced := make(chan struct{})
	var once sync.Once
	go func() {
		defer close(done)
		if err := board.Watch(ctx, b.screen, func(e board.Event) {
			switch e.Kind {
			case board.Pending:
				b.asked <- e.Record
			case board.Resolved:
				b.ended <- e.Record
			case board.Synced:
				once.Do(func() { close(synced) })
			case board.Offline, board.Reset, board.Changed:
			}
		}); err != nil {
			b.t.Error(err)
		}
	}()
	b.t.Cleanup(func() { cancel(); <-done })
	<-synced
}

// next returns the next ask on the screen.
func (b *bus) next() ask.Record {
	b.t.Helper()
	select {
	case rec := <-b.asked:
		return rec
	case <-time.After(time.Minute):
		b.t.Fatal("nobody was asked")
		return ask.Record{}
	}
}

// choose answers with an option of each question.
func (b *bus) choose(rec ask.Record, option string) {
	b.t.Helper()
	reply := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}}
	for _, q := range rec.Ask.Questions {
		reply.Answers = append(reply.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{option}})
	}
	if _, err := b.screen.Answer(b.t.Context(), rec.Ask.Key(), reply); err != nil {
		b.t.Error(err)
	}
}

// decline refuses to answer.
func (b *bus) decline(rec ask.Record, reason string) {
	b.t.Helper()
	by := ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}
	if _, err := b.screen.Cancel(b.t.Context(), rec.Ask.Key(), responder.Decline{Reason: reason, By: by}); err != nil {
		b.t.Error(err)
	}
}

// token issues a bearer token for one session.
func (b *bus) token(session string) string { b.t.Helper(); return b.issue("--session", session) }

// script is a running foreign client that says what happens, a JSON object a
// line.
type script struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	seen  []event

	kill     func()
	patience time.Duration // how long nothing that is waited for may come; the slow tests wait long
}

// event is one of its lines.
type event struct {
	Connected bool   `json:"connected"`
	Refused   string `json:"refused"`
	Resumable bool   `json:"resumable"`
	Tools     []struct {
		Name        string         `json:"name"`
		Annotations map[string]any `json:"annotations"`
	} `json:"tools"`
	Form     map[string]any `json:"form"`
	Shown    map[string]any `json:"shown"`
	Closed   bool           `json:"closed"`
	Asked    map[string]any `json:"asked"`
	Exited   *int           `json:"exited"`
	Progress float64        `json:"progress"`
	Index    *int           `json:"index"`
	Result   map[string]any `json:"result"`
	Text     string         `json:"text"`
	Error    string         `json:"error"`
	IsError  bool           `json:"isError"`
	Took     int            `json:"took"`

	Issuer     string `json:"issuer"`     // of the OpenID Connect provider, which listens
	Calls      string `json:"calls"`      // whom it calls
	Grant      string `json:"grant"`      // what was asked for at its token endpoint
	Logout     string `json:"logout"`     // of whom the inbox was told
	Changed    bool   `json:"changed"`    // as it was told
	Registered string `json:"registered"` // the client that an MCP client registered itself as
	Authorize  string `json:"authorize"`  // where it sends its person
	Token      string `json:"token"`      // what it got
}

// run starts a script of this directory with the plan as its argument.
func run(t *testing.T, name string, plan map[string]any) *script {
	t.Helper()
	return runWith(t, "node", name, plan)
}

func runWith(t *testing.T, program, name string, plan map[string]any) *script {
	t.Helper()
	if _, err := os.Stat("node_modules"); err != nil {
		t.Fatal("the foreign clients are not installed: run npm ci in interop, as make test does")
	}
	cmd := exec.Command(program, name, string(encode(t, plan)))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &script{t: t, in: in, lines: bufio.NewScanner(out), kill: func() { _ = cmd.Process.Kill() }, patience: 15 * time.Minute}
	s.lines.Buffer(nil, 1<<20)
	return s
}

// until reads events until one is wanted.
func (s *script) until(what string, wanted func(event) bool) event {
	s.t.Helper()
	defer time.AfterFunc(s.patience, s.kill).Stop()
	for s.lines.Scan() {
		var e event
		if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil {
			s.t.Fatalf("%v: %s", err, s.lines.Bytes())
		}
		s.seen = append(s.seen, e)
		if wanted(e) {
			return e
		}
	}
	s.t.Fatalf("the client ended without %s; it said %+v", what, s.seen)
	return event{}
}

// result returns the result, or the failure, of the next call that ends.
func (s *script) result() event {
	s.t.Helper()
	return s.until("a result", func(e event) bool { return e.Index != nil && e.Progress == 0 })
}

func (s *script) form() event {
	s.t.Helper()
	return s.until("a form", func(e event) bool { return e.Form != nil })
}

// send writes a line to the script.
func (s *script) send(v any) {
	s.t.Helper()
	if _, err := s.in.Write(append(encode(s.t, v), '\n')); err != nil {
		s.t.Error(err)
	}
}

// encode writes JSON.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
