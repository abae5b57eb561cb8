package ask_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

func normalized() *ask.Ask {
	a := valid()
	a.Normalize()
	return a
}

func TestAnswersThatFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   ask.Answer
		want ask.Answer
	}{
		"one option":                    {ask.Answer{QuestionID: "db", Selected: []string{"pg"}, Notes: "soon"}, ask.Answer{QuestionID: "db", Selected: []string{"pg"}, Notes: "soon"}},
		"Other text":                    {ask.Answer{QuestionID: "db", Other: "MySQL"}, ask.Answer{QuestionID: "db", Other: "MySQL"}},
		"several options":               {ask.Answer{QuestionID: "parts", Selected: []string{"o1", "o3"}}, ask.Answer{QuestionID: "parts", Selected: []string{"o1", "o3"}}},
		"an option and Other text":      {ask.Answer{QuestionID: "parts", Selected: []string{"o1"}, Other: "x"}, ask.Answer{QuestionID: "parts", Selected: []string{"o1"}, Other: "x"}},
		"a number":                      {ask.Answer{QuestionID: "n", Number: new(9.0)}, ask.Answer{QuestionID: "n", Number: new(9.0)}},
		"a text":                        {ask.Answer{QuestionID: "name", Text: "abc"}, ask.Answer{QuestionID: "name", Text: "abc"}},
		"Other text to a text":          {ask.Answer{QuestionID: "name", Other: "abc"}, ask.Answer{QuestionID: "name", Text: "abc"}},
		"no":                            {ask.Answer{QuestionID: "tls", Boolean: new(false)}, ask.Answer{QuestionID: "tls", Boolean: new(false)}},
		"a date":                        {ask.Answer{QuestionID: "from", Date: "2026-12-31"}, ask.Answer{QuestionID: "from", Date: "2026-12-31"}},
		"skipped":                       {ask.Answer{QuestionID: "tls", Skipped: true}, ask.Answer{QuestionID: "tls", Skipped: true}},
		"an empty answer is skipped":    {ask.Answer{QuestionID: "tls"}, ask.Answer{QuestionID: "tls", Skipped: true}},
		"blank text is not text":        {ask.Answer{QuestionID: "name", Text: " \n"}, ask.Answer{QuestionID: "name", Skipped: true}},
		"a note alone is not an answer": {ask.Answer{QuestionID: "tls", Notes: "hm"}, ask.Answer{QuestionID: "tls", Notes: "hm", Skipped: true}},
		"a few are below min_items 1":   {ask.Answer{QuestionID: "parts", Other: "x"}, ask.Answer{QuestionID: "parts", Other: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := normalized()
			given := []ask.Answer{c.in}
			if c.in.QuestionID != "db" {
				given = append(given, ask.Answer{QuestionID: "db", Selected: []string{"lite"}})
			}
			answers, by, err := a.Check(ask.Reply{Answers: given})
			if err != nil || by != nil || len(answers) != len(a.Questions) {
				t.Fatalf("%v, %v, %v", answers, by, err)
			}
			o := ask.Outcome{Answers: answers}
			if got := o.Answer(c.want.QuestionID); !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
			for i := range answers {
				if answers[i].QuestionID != a.Questions[i].ID {
					t.Errorf("answer %d is to %q", i, answers[i].QuestionID)
				}
			}
		})
	}
}

func TestAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   ask.Answer
		want string
	}{
		"an unknown option":        {ask.Answer{QuestionID: "db", Selected: []string{"x"}}, `/answers/0: option "x" does not exist; the options are pg, lite, stop`},
		"two where one":            {ask.Answer{QuestionID: "db", Selected: []string{"pg", "lite"}}, "/answers/0: 2 answers are given; choose one"},
		"one and Other":            {ask.Answer{QuestionID: "db", Selected: []string{"pg"}, Other: "x"}, "/answers/0: 2 answers are given; choose one"},
		"one twice":                {ask.Answer{QuestionID: "parts", Selected: []string{"o1", "o1"}}, `/answers/0: option "o1" is chosen twice`},
		"more than max_items":      {ask.Answer{QuestionID: "parts", Selected: []string{"o1", "o2"}, Other: "x"}, "/answers/0: has 3 chosen; choose at most 2"},
		"long Other text":          {ask.Answer{QuestionID: "db", Other: strings.Repeat("x", 10001)}, "/answers/0: the Other text has more than 10000 characters"},
		"a long note":              {ask.Answer{QuestionID: "tls", Notes: strings.Repeat("x", 10001)}, "/answers/0: the note has more than 10000 characters"},
		"a short text":             {ask.Answer{QuestionID: "name", Text: "a"}, "/answers/0: has 1 characters; write at least 2"},
		"a long text":              {ask.Answer{QuestionID: "name", Text: "abcdef"}, "/answers/0: has 6 characters; write at most 5"},
		"a text off the pattern":   {ask.Answer{QuestionID: "name", Text: "ABC"}, "/answers/0: does not match ^[a-z]+$"},
		"a number too small":       {ask.Answer{QuestionID: "n", Number: new(0.0)}, "/answers/0: is 0; give at least 1"},
		"a number too large":       {ask.Answer{QuestionID: "n", Number: new(10.0)}, "/answers/0: is 10; give at most 9"},
		"a fraction":               {ask.Answer{QuestionID: "n", Number: new(1.5)}, "/answers/0: is 1.5; give a whole number"},
		"not a number":             {ask.Answer{QuestionID: "n", Number: new(math.NaN())}, "/answers/0: is not a finite number"},
		"an impossible date":       {ask.Answer{QuestionID: "from", Date: "2026-02-30"}, `/answers/0: is "2026-02-30"; give a date such as 2026-11-20`},
		"a date too early":         {ask.Answer{QuestionID: "from", Date: "2026-11-19"}, "/answers/0: is 2026-11-19; give 2026-11-20 or later"},
		"a date too late":          {ask.Answer{QuestionID: "from", Date: "2027-01-01"}, "/answers/0: is 2027-01-01; give 2026-12-31 or earlier"},
		"the field of another":     {ask.Answer{QuestionID: "n", Text: "3"}, `/answers/0: has text, but "n" is a number question; give number`},
		"a boolean to a choice":    {ask.Answer{QuestionID: "db", Boolean: new(true)}, `/answers/0: has boolean, but "db" is a choice question; give selected or other`},
		"skipped and answered":     {ask.Answer{QuestionID: "n", Number: new(3.0), Skipped: true}, "/answers/0: is both skipped and answered; do one of the two"},
		"an unknown question":      {ask.Answer{QuestionID: "x"}, `/answers/0/question_id: "x" is not a question; the questions are db, parts, n, name, tls, from`},
		"a required one left out":  {ask.Answer{QuestionID: "n", Number: new(3.0)}, `/answers: question "db" needs an answer`},
		"a required one skipped":   {ask.Answer{QuestionID: "db", Skipped: true}, `/answers: question "db" needs an answer`},
		"a required one with note": {ask.Answer{QuestionID: "db", Notes: "hm"}, `/answers: question "db" needs an answer`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := normalized().Check(ask.Reply{Answers: []ask.Answer{c.in}})
			if got := faults(t, err); !strings.Contains("\n"+got+"\n", "\n"+c.want+"\n") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFaultsNameTheQuestionsAtFault(t *testing.T) {
	t.Parallel()
	_, _, err := normalized().Check(ask.Reply{Answers: []ask.Answer{
		{QuestionID: "db", Selected: []string{"pg"}}, {QuestionID: "n", Number: new(99.0)}, {QuestionID: "name", Text: "X"}, {QuestionID: "db", Selected: []string{"pg"}},
	}})
	var refusal *ask.Error
	if !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	var at []string
	for _, f := range refusal.Faults {
		at = append(at, f.QuestionID)
	}
	if got := strings.Join(at, " "); got != "n name name db" {
		t.Errorf("the faults name the questions %s: %v", got, err)
	}
}

func TestNoOtherTextWhereItIsOff(t *testing.T) {
	t.Parallel()
	a := normalized()
	a.Questions[0].NoOther = true
	_, _, err := a.Check(ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Other: "MySQL"}}})
	if got := faults(t, err); got != "/answers/0: Other text is not allowed here; choose from pg, lite, stop" {
		t.Error(got)
	}
}

func TestTheAskersOwnMessageIsUsed(t *testing.T) {
	t.Parallel()
	a := normalized()
	a.Questions[2].Limits.Message = "One to nine, please."
	_, _, err := a.Check(ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Other: "x"}, {QuestionID: "n", Number: new(10.0)}}})
	if got := faults(t, err); got != "/answers/1: One to nine, please." {
		t.Error(got)
	}
}

func TestAnOptionThatCancelsEndsTheWholeAsk(t *testing.T) {
	t.Parallel()
	answers, by, err := normalized().Check(ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"stop"}}}})
	if err != nil || answers != nil || by == nil || *by != (ask.CancelledBy{QuestionID: "db", OptionID: "stop"}) {
		t.Errorf("%v, %v, %v", answers, by, err)
	}
	_, by, err = normalized().Check(ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"stop"}}, {QuestionID: "n", Number: new(99.0)}}})
	if by != nil || err == nil {
		t.Errorf("a reply with a fault cancels: %v, %v", by, err)
	}
}

func TestAResponseReplacesAllAnswers(t *testing.T) {
	t.Parallel()
	answers, _, err := normalized().Check(ask.Reply{Response: "ask me tomorrow"})
	if err != nil {
		t.Fatal(err)
	}
	for _, ans := range answers {
		if !ans.Skipped {
			t.Errorf("%q is not skipped", ans.QuestionID)
		}
	}
	if _, _, err := normalized().Check(ask.Reply{Response: " "}); err == nil {
		t.Error("a blank response was accepted")
	}
	if _, _, err := normalized().Check(ask.Reply{Response: strings.Repeat("x", 65537)}); err == nil {
		t.Error("a response that is too long was accepted")
	}
}

func TestUnknownKindsAreNotAnswered(t *testing.T) {
	t.Parallel()
	a := &ask.Ask{Questions: []ask.Question{{ID: "c", Kind: "colour"}}}
	if _, _, err := a.Check(ask.Reply{Answers: []ask.Answer{{QuestionID: "c", Text: "red"}}}); err == nil {
		t.Error("an answer to a question of kind colour was accepted")
	}
}
