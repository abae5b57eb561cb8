package interop_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// standIns returns programs that call the callbacks of the packages as the SDKs
// do: how to start each, and its package.
func standIns(t *testing.T) map[string][3]string {
	t.Helper()
	p := packages(t)
	return map[string][3]string{
		"TypeScript": {"node", "callback/standin.mjs", p.node()},
		"Python":     {"python3", "callback/standin.py", p.python},
	}
}

func TestCallbacksOfAgentSDKs(t *testing.T) {
	b := up(t)
	for name, in := range standIns(t) {
		ask := func(t *testing.T, tool, id string) *script {
			t.Helper()
			return runWith(t, in[0], in[1], map[string]any{
				"package": in[2], "url": b.url, "token": b.token("sdk-" + name), "session": "sdk-" + name,
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
		t.Run(name+" answered", func(t *testing.T) {
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
