package natsd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestARebuiltStateIsNoWarning(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &logger{log: slog.New(slog.NewTextHandler(&out, nil))}
	l.Warnf("Filestore [%s] TTL state is outdated; attempting to recover using linear scan (seq 1 to 1)", "ASKS_00")
	l.Warnf("Filestore [%s] checksum mismatch", "ASKS_01")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=INFO") || !strings.Contains(lines[1], "level=WARN") {
		t.Errorf("logged %q", lines)
	}
}
