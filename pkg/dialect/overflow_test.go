package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

func bigAsk(t *testing.T, questions ...ask.Question) *ask.Ask {
	t.Helper()
	a := &ask.Ask{ID: "big", Session: "s1", Questions: questions}
	a.Normalize()
	if err := a.Validate(asktest.Asked); err != nil {
		t.Fatal(err)
	}
	return a
}

func pick(labels string) ask.Question {
	q := ask.Question{Text: "Which?"}
	for label := range strings.FieldsSeq(labels) {
		q.Options = append(q.Options, ask.Option{Label: label})
	}
	return q
}

// A listener of the event pair never gets more or fewer questions or options
// than its dialect allows.
func TestAListenerGetsWhatItsDialectPromises(t *testing.T) {
	t.Parallel()
	five := make([]ask.Question, 5)
	for i := range five {
		five[i] = pick("a b")
	}
	for name, a := range map[string]*ask.Ask{
		"ten options":    bigAsk(t, pick("a b c d e f g h i j")),
		"one option":     bigAsk(t, pick("only")),
		"no option":      bigAsk(t, ask.Question{Text: "Why?"}),
		"five questions": bigAsk(t, five...),
		"a number":       bigAsk(t, ask.Question{Text: "How many?", Kind: ask.KindNumber}),
		"what fits":      bigAsk(t, pick("a b"), ask.Question{Text: "Sure?", Kind: ask.KindBoolean}),
	} {
		body, _ := in(t, "event-pair").ShowAt(a, "http://inbox/ask/big")
		var shown struct {
			Questions []struct {
				Question string            `json:"question"`
				Options  []json.RawMessage `json:"options"`
			} `json:"questions"`
		}
		if err := json.Unmarshal(body, &shown); err != nil {
			t.Fatal(err)
		}
		if n := len(shown.Questions); n < 1 || n > 4 {
			t.Errorf("%s: %d questions", name, n)
		}
		for _, q := range shown.Questions {
			if n := len(q.Options); n < 2 || n > 4 {
				t.Errorf("%s: %d options", name, n)
			}
			if fits := name == "what fits"; fits == strings.Contains(q.Question, "http://inbox/ask/big") {
				t.Errorf("%s: %s", name, q.Question)
			}
		}
	}
}

func TestAnswersToAnOverflowCard(t *testing.T) {
	t.Parallel()
	ten := pick("a b c d e f g h i j")
	several := pick("a b c d e f")
	several.Multiple = true
	for name, c := range map[string]struct {
		q    []ask.Question
		say  string
		want string
	}{
		"a label":             {[]ask.Question{ten}, "j", "replied o10"},
		"a number":            {[]ask.Question{ten}, "7", "replied o7"},
		"labels":              {[]ask.Question{several}, "a,f", "replied o1 o6"},
		"a word":              {[]ask.Question{ten}, "none of these", `replied "none of these"`},
		"elsewhere":           {[]ask.Question{ten}, "Answer elsewhere", "dismissed"},
		"no":                  {[]ask.Question{ten}, "Decline", "declined"},
		"a text":              {[]ask.Question{{Text: "Why?"}}, "Because", "replied text Because"},
		"one reply to it all": {[]ask.Question{ten, ten, ten, ten, ten}, "all a", "replied to all: all a"},
	} {
		a := bigAsk(t, c.q...)
		answer, err := json.Marshal(map[string]any{"answers": map[string]string{"question-0": c.say}})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{"event-pair", "typed"} {
			if d == "typed" && name == "a text" {
				continue // it has text questions
			}
			given, err := in(t, d).Reply(a, answer)
			if got := summary(given); err != nil || got != c.want {
				t.Errorf("%s, %s: %s, %v", d, name, got, err)
			}
		}
	}
}

func summary(given dialect.Given) string {
	s := string(given.Decision)
	if given.Reply.Response != "" {
		s += " to all: " + given.Reply.Response
	}
	for _, ans := range given.Reply.Answers {
		for _, id := range ans.Selected {
			s += " " + id
		}
		if ans.Other != "" {
			s += ` "` + ans.Other + `"`
		}
		if ans.Text != "" {
			s += " text " + ans.Text
		}
	}
	return s
}

// An agent that calls ten tools at once is asked about all of them, without the edits for which an ask has no room.
func TestManyCallsAreReviewedWithoutEdits(t *testing.T) {
	t.Parallel()
	d := in(t, "langchain")
	for calls, options := range map[int]int{8: 3, 9: 2, ask.MaxQuestions: 2} {
		a, warnings, err := d.Ask([]byte(`{"actionRequests":[` + strings.TrimSuffix(strings.Repeat(`{"name":"delete","args":{}},`, calls), ",") + `]}`))
		if err != nil {
			t.Fatalf("%d calls: %v", calls, err)
		}
		if n := len(a.Questions[0].Options); n != options || (options == 2) != (len(warnings) == calls) {
			t.Errorf("%d calls have %d options, and %d warnings", calls, n, len(warnings))
		}
	}
}
