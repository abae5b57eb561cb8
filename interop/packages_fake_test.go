package interop_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// TestTheDoublesReadAnswersAsTheBusDoes compares what people of FakeAskbus say
// with what the bus makes of the same text.
func TestTheDoublesReadAnswersAsTheBusDoes(t *testing.T) {
	t.Parallel()
	o := packages(t)
	o.agents(t)
	const options = `"kind": "choice", "options": [{"id": "pg", "label": "PostgreSQL"}, {"id": "lite", "label": "SQLite"}, {"id": "my", "label": "MySQL, or MariaDB"}]`
	said := map[string][]string{
		options + `, "allow_other": false`: {"pg", "postgresql", "2", "lite", "mysql, or mariadb", "maria", "sql", "4", "0", "none", "", "pg, lite"},
		options:                            {"pg", "DuckDB", "other: pg", "7", "Other:  x ", "1, 2"},
		options + `, "multiple": true, "allow_other": false`:                {"pg, 2", "1,1", "mysql, or mariadb", "pg, none", "none", "maria, sqlite"},
		options + `, "multiple": true, "max_items": 2`:                      {"pg, lite", "pg, lite, my", "pg, DuckDB", "DuckDB", "all of them"},
		`"kind": "number", "limits": {"min": 1, "max": 9, "integer": true}`: {"3", "3.0", "2.5", "0", "10", "three", "+4", "1e0"},
		`"kind": "number"`:  {"0.30000000000000004", "-1", ".5", "NaN", "0x10", "9007199254740991"},
		`"kind": "boolean"`: {"yes", "No", "1", "2", "TRUE", "maybe", "是", "否"},
		`"kind": "date", "limits": {"min": "2026-01-01"}`:                                     {"2026-11-20", "2026/1/2", "2025-12-31", "2026-02-30", "tomorrow"},
		`"kind": "text", "limits": {"min_length": 2, "max_length": 5, "pattern": "^[a-z]+$"}`: {"abc", " abc ", "a", "abcdef", "ABC"},
		`"kind": "text", "required": false`:                                                   {"", "x"},
	}
	type line struct {
		Question json.RawMessage `json:"question"`
		Say      string          `json:"say"`
	}
	var cases []line
	var want []map[string]any // nil: it is no answer
	for question, says := range said {
		raw := json.RawMessage(`{"id": "q1", "text": "Which?", ` + question + `}`)
		var q ask.Question
		if err := json.Unmarshal(raw, &q); err != nil {
			t.Fatal(err)
		}
		for _, say := range says {
			cases = append(cases, line{raw, say})
			var answer map[string]any
			if a, err := q.ParseReply(say); err == nil {
				if err := json.Unmarshal(encode(t, a), &answer); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, answer)
		}
	}
	for _, program := range [][]string{{"node", "fake.mjs"}, {"python3", "fake.py"}} {
		cmd := o.command(&bus{}, "fake", program[0], filepath.Join(t.Name(), program[1]), string(encode(t, cases)))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != len(cases) {
			t.Fatalf("%s printed %d lines of %d", program[1], len(lines), len(cases))
		}
		for i, text := range lines {
			var got map[string]any
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%s: %q to %s is %v; the bus reads %v", program[1], cases[i].Say, cases[i].Question, got, want[i])
			}
		}
	}
}
