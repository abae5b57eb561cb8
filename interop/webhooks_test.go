package interop_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver runs a platform with the example's function, which gets the address
// and the token of a bus that does not run yet through files.
type receiver struct {
	port  string
	lines chan string
}

func (o ours) receiver(t *testing.T, env []string, name string, args ...string) receiver {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = o.dir, append(append(os.Environ(), "PYTHONPATH="+o.python, "ASKBUS_WEBHOOK_SECRET="+webhookSecret), env...), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("%s did not say its port", args)
	}
	r := receiver{lines.Text(), make(chan string, 100)}
	go func() {
		for lines.Scan() {
			r.lines <- lines.Text()
		}
	}()
	return r
}

// TestAFunctionEndsAndIsCalledBack runs the example of each package: the function asks and its process
// ends; when somebody has answered, it is called back, and foreign verifiers accept the request.
func TestAFunctionEndsAndIsCalledBack(t *testing.T) {
	t.Parallel()
	o := packages(t)
	o.agents(t)
	at := filepath.Join(o.dir, t.Name())
	for _, name := range []string{"function.mjs", "function.py"} {
		text, err := os.ReadFile(filepath.Join("../examples/callback", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		readme, err := os.ReadFile(map[string]string{"function.mjs": "../pkg/typescript/README.md", "function.py": "../pkg/python/README.md"}[name])
		if err != nil {
			t.Fatal(err)
		}
		if _, code, _ := strings.Cut(string(text), "askbus'\n"); name == "function.mjs" && !strings.Contains(string(readme), strings.TrimSpace(code)) {
			t.Error("the README of the TypeScript package does not have the example")
		}
		if _, code, _ := strings.Cut(string(text), "webhook\n"); name == "function.py" && !strings.Contains(string(readme), strings.TrimSpace(code)) {
			t.Error("the README of the Python package does not have the example")
		}
	}
	foreign, err := filepath.Abs("bus_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for language, c := range map[string]struct {
		receiver []string
		start    []string
	}{
		"TypeScript": {[]string{"node", filepath.Join(at, "receiver.mjs")}, []string{"node", "--input-type=module", "-e", "import { start } from '" + filepath.Join(at, "function.mjs") + "'; await start('7')"}},
		"Python":     {[]string{"python3", filepath.Join(at, "receiver.py")}, []string{"python3", "-c", "import sys; sys.path.insert(0, '" + at + "'); import function; function.start('7')"}},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			// The receiver needs the bus, and the bus the receiver's port: a listener of the test stands between.
			front := newFront(t)
			dir := t.TempDir()
			for name, text := range map[string]string{
				"secret":        webhookSecret,
				"webhooks.yaml": "callbacks:\n  - { name: builder, url: '" + front.url + "', secret_file: secret, allow_private: true }\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b := upWith(t, nil, "--webhooks", filepath.Join(dir, "webhooks.yaml"))
			token := b.token("fn")
			env := []string{"ASKBUS_HTTP_URL=" + b.url, "ASKBUS_TOKEN=" + token, "FOREIGN=" + foreign}
			r := o.receiver(t, env, c.receiver[0], c.receiver[1:]...)
			front.to <- "http://127.0.0.1:" + r.port
			for registered := false; !registered; {
				var out strings.Builder
				cmd := o.command(b, token, c.start[0], c.start[1:]...)
				cmd.Stderr = &out
				err := cmd.Run()
				if registered = err == nil; !registered && !strings.Contains(out.String(), "callback") {
					t.Fatalf("%v: %s", err, out.String())
				}
			}
			rec := b.next()
			if rec.Ask.ID != "deploy-7" || rec.Ask.Callback != "builder" || rec.Ask.Questions[0].Text != "Deploy 7?" {
				t.Errorf("asked %+v", rec.Ask)
			}
			yes := true
			reply := ask.Reply{By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: rec.Ask.Questions[0].ID, Boolean: &yes}}}
			if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), reply); err != nil {
				t.Error(err)
			}
			select {
			case line := <-r.lines:
				if want := map[string]string{"TypeScript": "deploy-7 true", "Python": "deploy-7 True"}[language]; line != want {
					t.Errorf("the function says %q, want %q", line, want)
				}
				<-front.done
			case <-time.After(time.Minute):
				t.Error("it was not called back")
			}
		})
	}
}

func TestEventSourceReadsASessionsAsks(t *testing.T) {
	t.Parallel()
	b := up(t)
	cmd := exec.Command(b.binary, "ask", "--dir", b.dir, "--session", "screen", "--id", "deploy-42", "--question", "Which?", "--option", "PostgreSQL", "--option", "SQLite", "--wait", "0")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != cli.ExitPending {
		t.Fatalf("%v: %s", err, out)
	}
	if got := b.start(b.token("screen"), "", nil, "node", "http/stream.mjs").end(); !strings.HasPrefix(got, "reset") || !strings.Contains(got, "ask deploy-42") || !strings.Contains(got, "synced with an id") || !strings.Contains(got, "outcome deploy-42 withdrawn") {
		t.Errorf("it read %s", got)
	}
}

// front forwards requests to an address that is known later.
type front struct {
	url  string
	to   chan string
	done chan struct{} // holds one for each request that was answered
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{to: make(chan string, 1), done: make(chan struct{}, 100)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := <-f.to
		f.to <- to
		out, err := http.NewRequestWithContext(r.Context(), r.Method, to, r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header, out.ContentLength = r.Header, r.ContentLength
		res, err := http.DefaultClient.Do(out)
		if err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusNoContent {
			body, _ := io.ReadAll(res.Body)
			t.Errorf("the function answered %s: %s", res.Status, body)
		}
		w.WriteHeader(res.StatusCode)
		f.done <- struct{}{}
	}))
	t.Cleanup(srv.Close)
	f.url = srv.URL + "/hook"
	return f
}
