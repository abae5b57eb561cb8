package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/askbustest"
)

// A restarted agent gets its earlier answer.
func TestAgent(t *testing.T) {
	t.Parallel()
	b := askbustest.Start(t)
	b.Script(askbustest.Rule{Question: "db", Say: "SQLite"})
	data, err := json.Marshal(b.Agent("default", "demo"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "demo.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var out strings.Builder
		if err := run(t.Context(), file, &out); err != nil || !strings.HasSuffix(out.String(), "the answer is SQLite\n") {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}
