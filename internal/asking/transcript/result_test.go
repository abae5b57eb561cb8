package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/transcript"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// What an agent is told of an outcome reads back from its conversation as the
// same outcome.
func TestReportsAreReadBack(t *testing.T) {
	t.Parallel()
	const block = `{"type":"tool_use","id":"tool use 1","name":"AskUserQuestion","input":{"questions":[
 {"question":"Which one?","header":"One","multiSelect":true,"options":[{"label":"Search, full text"},{"label":"Export"}]},
 {"question":"Sure?","header":"Two","options":[{"label":"Yes"},{"label":"No"}]}]}}`
	d, _ := dialect.Lookup("claude-code")
	a, _, err := d.Ask([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	read := func(o *ask.Outcome) transcript.Entry {
		result, err := json.Marshal(map[string]any{"type": "tool_result", "tool_use_id": "tool use 1", "content": dialect.Report(&a, o)})
		if err != nil {
			t.Fatal(err)
		}
		entries, err := transcript.Read([]byte(`{"role":"assistant","content":[` + block + `]}` + "\n" + `{"role":"user","content":[` + string(result) + `]}`))
		if err != nil || len(entries) != 1 {
			t.Fatalf("%v: %+v", err, entries)
		}
		return entries[0]
	}
	e := read(&ask.Outcome{Status: ask.StatusAnswered, By: &ask.By{Name: "Mei"}, Answers: []ask.Answer{
		{QuestionID: "q1", Selected: []string{"o1", "o2"}, Notes: "soon"}, {QuestionID: "q2", Other: "maybe <b>"},
	}})
	if e.State != transcript.Answered || e.Questions[0].Answer != "Search, full text, Export" || e.Questions[1].Answer != "maybe <b>" {
		t.Errorf("%+v", e)
	}
	if e := read(&ask.Outcome{Status: ask.StatusExpired}); e.State != transcript.NoAnswer || !strings.HasPrefix(e.Response, "nobody answered by ") {
		t.Errorf("an expiry is read as %+v", e)
	}
}
