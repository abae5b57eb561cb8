package hook_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/hook"
)

// A recorded conversation may come from anywhere, and goes to a terminal.
func TestReplayPrintsCleanText(t *testing.T) {
	t.Parallel()
	conversation := bytes.ReplaceAll(hook.Sample(), []byte("SQLite"), []byte("SQ\\u202eL\\u009b2Ji\\u001b[2Jte\u2066"))
	var out bytes.Buffer
	if err := hook.Replay(&out, hook.Wait, conversation); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "SQLite") || strings.ContainsAny(got, "\u202e\u009b\x1b\u2066") {
		t.Errorf("%+q", got)
	}
}
