package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestTheExchangeInPythonAndNode exchanges a token for a credential with the
// standard libraries of Python and Node, and connects a NATS client with it.
func TestTheExchangeInPythonAndNode(t *testing.T) {
	t.Parallel()
	b := up(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(b.issue("--session", "ci-*")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"ASKBUS_EXCHANGE_TOKEN_FILE=" + token}
	for name, script := range map[string]string{"python3": "../examples/python/exchange.py", "node": "../examples/node/exchange.mjs"} {
		file := filepath.Join(t.TempDir(), "agent.creds")
		out := b.start("", "", env, name, script, file, "ci-7").end()
		var got struct {
			URL  string `json:"url"`
			Name string `json:"name"`
			Box  string `json:"inbox_prefix"`
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Name != "agent/default/ci-7" {
			t.Fatalf("%s: %v, %s", name, err, out)
		}
		nc, err := nats.Connect(got.URL, nats.UserCredentials(file), nats.CustomInboxPrefix(got.Box))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m, err := nc.Request("askv1.default.ci-7.list", []byte(`{"limit":1}`), nats.DefaultTimeout*15); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			need(t, string(m.Data), `"items":[]`)
		}
		nc.Close()
	}
}
