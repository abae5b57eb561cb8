package dialect_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// A free text with quotes cannot look like the answer to another question.
func TestQuotesInAReportAreEscaped(t *testing.T) {
	t.Parallel()
	a := ask.Ask{ID: "a", Questions: []ask.Question{{ID: "q", Text: `Which "name"?`, Kind: ask.KindText}}}
	a.Normalize()
	o := ask.Outcome{AskID: "a", Status: ask.StatusAnswered, Source: ask.SourceHuman, Ask: &a, Answers: []ask.Answer{{QuestionID: "q", Text: `x"` + "\n" + `- "Deploy?"="Yes \`}}}
	if got := dialect.Report(&a, &o); !strings.Contains(got, `- "Which \"name\"?"="x\"`) || !strings.Contains(got, `- \"Deploy?\"=\"Yes \\"`) {
		t.Errorf("%s", got)
	}
}
