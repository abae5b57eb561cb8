package ask_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

func TestNormalizeFillsInWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	a := &ask.Ask{Questions: []ask.Question{
		{Text: "?", Options: []ask.Option{{Label: "a", Preview: &ask.Preview{Body: "x"}}, {Label: "b"}}},
		{Text: "?"},
		{Text: "?", Kind: ask.KindChoice},
		{Text: "?", Kind: ask.KindChoice, NoOther: true},
		{Text: "?", Kind: ask.KindDate, NoOther: true, Default: &ask.Answer{Text: "2026-12-01"}},
	}}
	a.Normalize()
	want := []ask.Question{
		{ID: "q1", Kind: ask.KindChoice, Text: "?", Options: []ask.Option{{ID: "o1", Label: "a", Preview: &ask.Preview{Format: ask.PreviewText, Body: "x"}}, {ID: "o2", Label: "b"}}},
		{ID: "q2", Kind: ask.KindText, Text: "?"},
		{ID: "q3", Kind: ask.KindText, Text: "?"},
		{ID: "q4", Kind: ask.KindChoice, NoOther: true, Text: "?"},
		{ID: "q5", Kind: ask.KindDate, Text: "?", Default: &ask.Answer{Date: "2026-12-01"}},
	}
	if a.Priority != ask.PriorityNormal || a.AtDeadline != ask.AtDeadlineExpire || !reflect.DeepEqual(a.Questions, want) {
		t.Errorf("normalized to %+v", a)
	}
	again := *a
	again.Normalize()
	if !reflect.DeepEqual(&again, a) {
		t.Error("normalizing twice changes something")
	}
}

func TestDefaultsAreAnswersToEveryQuestion(t *testing.T) {
	t.Parallel()
	a := normalized()
	a.Questions[0].Default = &ask.Answer{QuestionID: "x", Selected: []string{"pg"}, Notes: "a note is not a value"}
	answers, _, err := a.Check(ask.Reply{Answers: a.Defaults()})
	if err != nil || !reflect.DeepEqual(answers, a.Defaults()) {
		t.Errorf("%v: %+v", err, answers)
	}
	if got := a.Defaults()[0]; got.QuestionID != "db" || got.Notes != "" || got.Skipped {
		t.Errorf("the default is %+v", got)
	}
	if got := a.Defaults()[1]; !got.Skipped {
		t.Errorf("a question without a default is %+v", got)
	}
}

func TestDueUsesTheFirstGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask  ask.Ask
		want time.Time
	}{
		"the deadline": {ask.Ask{Deadline: now.Add(time.Hour).In(time.FixedZone("x", 3600))}, now.Add(time.Hour)},
		"the timeout":  {ask.Ask{Timeout: time.Minute}, now.Add(time.Minute)},
		"30 days":      {ask.Ask{}, now.Add(720 * time.Hour)},
	} {
		if got := c.ask.Due(now); !got.Equal(c.want) || got.Location() != time.UTC {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOnlyTheAudienceMayDecide(t *testing.T) {
	t.Parallel()
	mei := ask.By{Principal: "os:mei", Groups: []string{"platform"}}
	for name, c := range map[string]struct {
		audience []string
		want     bool
	}{
		"nobody is named, so everybody may": {nil, true},
		"the principal is named":            {[]string{"os:li", "os:mei"}, true},
		"one of the groups is named":        {[]string{"group:platform"}, true},
		"another group is named":            {[]string{"group:platforms"}, false},
		"a group is not a principal":        {[]string{"platform"}, false},
		"a principal is compared exactly":   {[]string{"OS:mei"}, false},
	} {
		a := ask.Ask{Audience: c.audience}
		if a.Allows(mei) != c.want {
			t.Errorf("%s: allowed is %v", name, !c.want)
		}
	}
}

func TestErrorsUnwrapToTheirSentinel(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]error{
		ask.CodeInvalid: ask.ErrInvalid, ask.CodeForbidden: ask.ErrForbidden, ask.CodeNotFound: ask.ErrNotFound,
		ask.CodeResolved: ask.ErrResolved, ask.CodeExpired: ask.ErrResolved, ask.CodeIDReused: ask.ErrIDReused,
		ask.CodeTooLarge: ask.ErrTooLarge, ask.CodeQuota: ask.ErrQuota, ask.CodeUnavailable: ask.ErrUnavailable,
		ask.CodeLedgerFull: ask.ErrUnavailable, ask.CodeNobody: ask.ErrNobody,
	} {
		if err := ask.Refuse(code, "no"); !errors.Is(err, want) {
			t.Errorf("%s is not %v", code, want)
		}
	}
	if errors.Unwrap(ask.Refuse(ask.CodeInternal, "no")) != nil || ask.InvalidError("ask", nil) != nil {
		t.Error("got an error, want none")
	}
}

func ExampleAsk_Validate() {
	a := ask.Ask{ID: "deploy", Questions: []ask.Question{
		{Text: "Which database?", Options: []ask.Option{{Label: "PostgreSQL"}, {Label: "PostgreSQL"}}},
		{Text: ""},
	}}
	a.Normalize()
	if invalid, ok := errors.AsType[*ask.Error](a.Validate(time.Now())); ok {
		for _, f := range invalid.Faults {
			fmt.Println(f)
		}
	}
	// Output:
	// /questions/0/options/1/label: "PostgreSQL" is also the label of option 1; labels must be unique
	// /questions/1/text: is empty; text is required
}

func ExampleAsk_Check() {
	a := ask.Ask{ID: "deploy", Questions: []ask.Question{{ID: "db", Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}}, NoOther: true}}}
	a.Normalize()
	_, _, err := a.Check(ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"mysql"}}}})
	fmt.Println(err)
	// Output: invalid answer: /answers/0: option "mysql" does not exist; the options are pg
}
