package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
)

// TestEvidenceIsCheckedWithoutAskbus has a program of Node's standard library, written by docs/audit.md and
// the formats that it names, check one ask's records, also when values were left out, and find what was changed.
func TestEvidenceIsCheckedWithoutAskbus(t *testing.T) {
	t.Parallel()
	b, dir := up(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	askbus := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(b.binary, append(args, "--dir", b.dir)...).Output()
		if err != nil && !strings.HasPrefix(err.Error(), "exit status 3") { // pending
			t.Fatalf("%v: %v", args, err)
		}
		return string(out)
	}
	write := func(name, content string) string {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	public := write("pub", askbus("audit", "key", "bus.example.com/audit", at("key")))
	askbus("ask", "--question", "Deploy \"42\" at 1.50 €/h? \"value\": 7 \u2028 é", "--option", "yes", "--id", "a1", "--session", "s1", "--wait", "0")
	b.choose(b.next(), "o1")
	<-b.ended
	natstest.Eventually(t, "the audit has the answer", func() bool {
		return strings.Contains(askbus("audit", "--ask", "a1", "--output", "json"), "ask.answered")
	})
	askbus("audit", "log", at("log"), "--key", at("key"), "--begin", "--once")
	for name, hide := range map[string][]string{"all": nil, "some": {"--hide", "/ask/questions"}} {
		evidence := askbus(append([]string{"audit", "evidence", at("log"), "s1/a1", "--key", public, "--output", "json"}, hide...)...)
		if out, err := exec.Command("node", "audit/verify.mjs", write(name, evidence), public).CombinedOutput(); err != nil || !strings.Contains(string(out), `"records":`) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
		for what, change := range map[string][2]string{"a value": {`"yes"`, `"no"`}, "a number": {`"waited_ms"`, `"waited"`}, "the size": {`audit\n`, `audit\n1`}, "a leaf": {`leaf.v1\nrecord `, `leaf.v1\nrecord 1`}} {
			changed := strings.Replace(evidence, change[0], change[1], 1)
			if changed == evidence {
				continue // left out
			}
			if out, err := exec.Command("node", "audit/verify.mjs", write("changed", changed), public).CombinedOutput(); err == nil {
				t.Errorf("%s: %s was changed, and it says %s", name, what, out)
			}
		}
	}
}
