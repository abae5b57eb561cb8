package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// standIns returns programs that call the callbacks of examples/sdk-callback as
// the SDKs do: how to start each, and its callback.
func standIns(t *testing.T) map[string][3]string {
	t.Helper()
	python, err := filepath.Abs("../examples/sdk-callback/askbus_callback.py")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][3]string{
		"TypeScript": {"node", "callback/standin.mjs", compiled(t)},
		"Python":     {"python3", "callback/standin.py", python},
	}
}

// compiled checks the types of the TypeScript callback and returns it as
// JavaScript.
func compiled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := os.Stat("node_modules/.bin/tsc"); err != nil {
		t.Skip("TypeScript is not installed; run npm ci in interop")
	}
	out, err := exec.Command("node_modules/.bin/tsc", "--strict", "--noEmitOnError", "--module", "esnext", "--target", "es2022", "--lib", "es2022,dom",
		"--outDir", dir, "../examples/sdk-callback/askbus-callback.ts").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "askbus-callback.js")
}

func TestCallbacksOfAgentSDKs(t *testing.T) {
	b := up(t)
	for name, in := range standIns(t) {
		ask := func(t *testing.T, tool, id string) *script {
			t.Helper()
			return runWith(t, in[0], in[1], map[string]any{
				"callback": in[2], "url": b.url, "token": b.token("sdk-" + name), "session": "sdk-" + name, "wait": 1,
				"tool": tool, "id": name + id, "input": question(nil),
			})
		}
		decided := func(t *testing.T, s *script, want ...string) {
			t.Helper()
			r := s.result()
			got := string(encode(t, r.Result))
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("decided %s; want %s in it", got, part)
				}
			}
		}
		t.Run(name+" answered, after a wait", func(t *testing.T) {
			s := ask(t, "AskUserQuestion", "-1")
			b.choose(b.next(), "o2")
			decided(t, s, `"behavior":"allow"`, `"Which database?":"SQLite"`, `"header":"Storage"`)
		})
		t.Run(name+" declined", func(t *testing.T) {
			s := ask(t, "AskUserQuestion", "-2")
			b.decline(b.next(), "not today")
			decided(t, s, `"behavior":"deny"`, "not today")
		})
		t.Run(name+" cancelled by the host", func(t *testing.T) {
			s := ask(t, "AskUserQuestion", "-3")
			rec := b.next()
			s.send("stop")
			s.result()
			b.withdrawn(rec)
		})
		t.Run(name+" another tool", func(t *testing.T) {
			decided(t, ask(t, "Bash", "-4"), `"behavior":"allow"`, `"questions"`)
		})
	}
}

// withdrawn waits until this ask has been withdrawn.
func (b *bus) withdrawn(rec ask.Record) {
	b.t.Helper()
	for {
		got := <-b.ended
		if got.Ask.Key() != rec.Ask.Key() {
			continue
		}
		if got.Outcome.Status != ask.StatusWithdrawn {
			b.t.Errorf("it is %s", got.Outcome.Status)
		}
		return
	}
}
