package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Two servers that are guarded in one directory have one session. A call that a guard left is carried out by a guard of
// its own server, although that of the other one started first.
func TestAGuardCarriesOutCallsOfItsOwnServerOnly(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("rules:\n- {tool: deploy, then: ask, without_client: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	guard := func(server, says string) (*process, *io.PipeWriter) {
		in, client := io.Pipe()
		p := startFrom(t, in, nil, "mcp", "guard", "--dir", pl.dir, "--session", "g", "--rules", rules, "--wait", "1s", "--", "sh", "-c", `while read -r line; do echo "$0 gets $line" >&2; done`, server)
		t.Cleanup(func() { _ = client.Close() })
		if _, err := io.WriteString(client, says+"\n"); err != nil {
			t.Fatal(err)
		}
		return p, client
	}
	const ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	staging, client := guard("staging", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":{}}}`)
	id := regexp.MustCompile(`with id \\"([^"\\]+)`).FindStringSubmatch(staging.out.wait(t, "pending: "))[1]
	_ = client.Close()
	staging.kill()
	production, client := guard("production", ready)
	production.err.wait(t, "production gets")
	pl.must(0, "answer", "g/"+id, "--select", "permission=allow")
	staging, _ = guard("staging", ready)
	staging.err.wait(t, `"name":"deploy"`)
	_ = client.Close()
	production.wait()
	if got := production.err.String(); strings.Contains(got, "deploy") {
		t.Errorf("the other server gets it as well: %s", got)
	}
}
