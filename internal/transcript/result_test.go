package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/transcript"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// A result that is written into a conversation reads back as the same outcome.
func TestResultsGoBothWays(t *testing.T) {
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
		result, err := transcript.Result("tool use 1", &a, o)
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
	result, err := transcript.Result("x", &a, &ask.Outcome{Status: ask.StatusWithdrawn})
	var withdrawn map[string]any
	if err != nil || json.Unmarshal(result, &withdrawn) != nil || withdrawn["is_error"] != true {
		t.Errorf("withdrawn: %v, %s", err, result)
	}
}
