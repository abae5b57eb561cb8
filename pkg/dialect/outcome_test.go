package dialect_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// basic returns the ask of a dialect's basic request.
func basic(t *testing.T, d dialect.Dialect, form string) ask.Ask {
	t.Helper()
	a, _, err := d.Ask([]byte(readArchive(t, filepath.Join("testdata", "requests", form+".txtar")).sections["request"]))
	if err != nil {
		t.Fatal(err)
	}
	a.ID, a.Tenant, a.Deadline = "ask-1", "acme", asktest.Deadline
	if a.Session == "" {
		a.Session = "s1"
	}
	return a
}

func TestEveryRowOfTheOutcomeTable(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "requests/*.txtar") {
		form := strings.TrimSuffix(filepath.Base(path), ".txtar")
		switch form[strings.LastIndexByte(form, '-')+1:] {
		case "basic", "several", "single", "text", "confirm", "equal", "approval", "question":
		default:
			continue
		}
		if form == "claude-code-equal" {
			continue
		}
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			d := byFile(t, path)
			a := basic(t, d, form)
			var out [][2]string
			for _, row := range asktest.Outcomes(&a) {
				out = append(out, [2]string{row.Name, response(d.Answer(&a, &row.Outcome))})
			}
			p := dialect.Pending{Location: "/v1/asks/" + a.Session + "/ask-1?dialect=" + d.Name}
			out = append(out, [2]string{"still pending", response(d.Pending(&a, p))})
			golden(t, "testdata/outcomes/"+form+".golden", &archive{}, nil, out)
		})
	}
}

// A program compares the answer with the choices that it gave, even if two of them are equal.
func TestCopilotAnswersWithTheChoiceAsItWasGiven(t *testing.T) {
	t.Parallel()
	d := in(t, "copilot")
	a, _, err := d.Ask([]byte(`{"question":"Which colour?","choices":["red","blue","red"]}`))
	if err != nil {
		t.Fatal(err)
	}
	o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Ask: &a, Answers: []ask.Answer{{QuestionID: "q1", Selected: []string{a.Questions[0].Options[2].ID}}}}
	if body := string(d.Answer(&a, &o).Body); body != `{"answer":"red","wasFreeform":false}` {
		t.Error(body)
	}
}
