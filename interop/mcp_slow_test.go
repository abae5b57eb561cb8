//go:build slow

package interop_test

import (
	"fmt"
	"testing"
)

// TestMCPACallThatOutlivesAMinute makes calls that take longer than the
// clients' default timeout of 60 s: with progress, which resets it, and with a
// longer timeout.
func TestMCPACallThatOutlivesAMinute(t *testing.T) {
	b := up(t)
	waiting := map[string]*script{}
	for i, d := range mcpClients() {
		for how, more := range map[string]map[string]any{
			"progress": {"progress": true, "reset": true}, "a limit of its own": {"timeout": 120_000},
		} {
			waiting[d.name+", "+how] = b.connect(d, fmt.Sprintf("slow-%d-%d", i, len(how)), nil, asking(70, more))
		}
	}
	for name, s := range waiting {
		r := s.result()
		t.Logf("%s: %d ms, %d progress notifications", name, r.Took, len(s.seen)-2)
		if r.Result["status"] != "pending" || r.Took < 70_000 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
