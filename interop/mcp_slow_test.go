//go:build slow

package interop_test

import (
	"fmt"
	"testing"
)

// A call that outlives the 60 s after which these clients drop it by default:
// with progress that resets their clock, and with a time of their own.
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
