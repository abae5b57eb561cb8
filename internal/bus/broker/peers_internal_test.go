package broker

import (
	"strings"
	"testing"
)

// Sizes that read the same are still not the same.
func TestSizesThatReadTheSameDiffer(t *testing.T) {
	t.Parallel()
	s := Settings{MaxStore: 10 << 30}
	if lines := s.differ(&s, "b2"); len(lines) > 0 {
		t.Errorf("of the same settings: %q", lines)
	}
	lines := strings.Join(s.differ(&Settings{MaxStore: 10<<30 + 1, Host: "h2"}, "b2"), "\n")
	if !strings.Contains(lines, "--max-store is 10737418240 bytes here and 10737418241 bytes at broker b2 on h2") {
		t.Errorf("said: %q", lines)
	}
}
