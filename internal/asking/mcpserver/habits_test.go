package mcpserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/pkg/ask"
)

// Each file has a call as a model writes it, from habits with JSON Schema, forms and other agents'
// tools, and the ask that it becomes.
func TestHabitsOfModels(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/habits/*.json")
	if err != nil || len(paths) < 8 {
		t.Fatalf("found %v, %v", paths, err)
	}
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var habit struct {
			Call   map[string]any  `json:"call"`
			Asked  json.RawMessage `json:"asked"`
			Warned string          `json:"warned"`
		}
		if err := json.Unmarshal(data, &habit); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		id := strings.TrimSuffix(filepath.Base(path), ".json")
		habit.Call["ask_id"], habit.Call["wait_seconds"] = id, 0
		r := f.must(cs, "AskUserQuestion", habit.Call)
		if r.isError || strings.Contains(r.text, "Warnings") != (habit.Warned != "") || !strings.Contains(r.text, habit.Warned) {
			t.Errorf("%s: %s", path, r.text)
			continue
		}
		rec, err := f.screen.Get(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, want := asObject(t, &rec.Ask), map[string]any{}
		if err := json.Unmarshal(habit.Asked, &want); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if a, b := compactJSON(t, got[key]), compactJSON(t, value); a != b {
				t.Errorf("%s: %s is\n%s\nwant\n%s", path, key, a, b)
			}
		}
	}
}

func asObject(t *testing.T, a *ask.Ask) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(compactJSON(t, a)), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func compactJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
