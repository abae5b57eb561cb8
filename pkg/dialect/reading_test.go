package dialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestTimesAreClippedWithAWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want ask.Ask }{
		"a deadline that has passed":  {ask.Ask{Deadline: asktest.Asked.Add(-time.Hour)}, ask.Ask{Deadline: asktest.Asked.Add(time.Second)}},
		"a deadline far ahead":        {ask.Ask{Deadline: asktest.Asked.Add(9000 * time.Hour)}, ask.Ask{Deadline: asktest.Asked.Add(ask.MaxTimeout)}},
		"a timeout that is too short": {ask.Ask{Timeout: 1}, ask.Ask{Timeout: time.Second}},
		"a timeout below zero":        {ask.Ask{Timeout: -time.Hour}, ask.Ask{Timeout: time.Second}},
	} {
		if warnings := dialect.ClipTimes(&c.in, asktest.Asked); len(warnings) != 1 || dump(c.in) != dump(c.want) {
			t.Errorf("%s: %s %v", name, dump(c.in), warnings)
		}
	}
	fine := ask.Ask{Timeout: time.Hour}
	if warnings := dialect.ClipTimes(&fine, asktest.Asked); warnings != nil || fine.Timeout != time.Hour {
		t.Errorf("%v", warnings)
	}
}

// Whatever the labels, a screen that returns what it showed returns the
// choices.
func TestScreensGiveBackWhatWasChosen(t *testing.T) {
	t.Parallel()
	pool := []string{"a", "b", "a,b", "a, b", "b, a", "a，b", "c", "c, a", "甲", "甲、乙", "نعم", "نعم, لا", "👩‍👩‍👧", "x\ny", "1", "o1", "Yes", "(Recommended)", strings.Repeat("long ", 90)}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		labels := slices.Clone(pool)
		rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		q := ask.Question{Text: "Which?", Multiple: rng.IntN(3) > 0, NoOther: true}
		for _, label := range labels[:2+rng.IntN(6)] {
			q.Options = append(q.Options, ask.Option{Label: label})
		}
		a := &ask.Ask{ID: "x", Session: "s", Questions: []ask.Question{q}}
		a.Normalize()
		if err := a.Validate(asktest.Asked); err != nil {
			t.Fatal(err)
		}
		chosen := rng.Perm(len(q.Options))[:1]
		if q.Multiple {
			chosen = rng.Perm(len(q.Options))[:1+rng.IntN(len(q.Options))]
		}
		var want []string
		for _, i := range chosen {
			want = append(want, a.Questions[0].Options[i].ID)
		}
		pair := "{}" // more options than its listeners accept
		if len(q.Options) <= 4 {
			pair = `{"answers":{"question-0":` + quote(strings.Join(shown(t, "event-pair", a, chosen), ",")) + `}}`
		}
		for name, body := range map[string]string{
			"event-pair":  pair,
			"claude-code": `{"answers":{"Which?":` + quote(strings.Join(shown(t, "claude-code", a, chosen), ", ")) + `}}`,
			"interact":    `{"result":` + array(shown(t, "interact", a, chosen)) + `}`,
			"opencode":    `{"answers":[` + array(shown(t, "opencode", a, chosen)) + `]}`,
			"vscode":      `{"answers":{"Question 1":{"selected":` + array(shown(t, "vscode", a, chosen)) + `}}}`,
		} {
			if body == "{}" {
				continue
			}
			d, _ := dialect.Lookup(name)
			given, err := d.Reply(a, []byte(body))
			if err != nil || fmt.Sprint(given.Reply.Answers[0].Selected) != fmt.Sprint(want) {
				t.Fatalf("%s: %v, %s is not %v of %q", name, err, dump(given), want, body)
			}
		}
	}
}

// shown returns the labels of the chosen options as a screen shows them.
func shown(t *testing.T, name string, a *ask.Ask, chosen []int) []string {
	t.Helper()
	d, _ := dialect.Lookup(name)
	body, _ := d.Show(a)
	type question struct {
		Options []struct {
			Label string `json:"label"`
		} `json:"options"`
	}
	var request struct {
		question
		Questions []question `json:"questions"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	options := append(request.Questions, request.question)[0].Options
	var labels []string
	for _, i := range chosen {
		labels = append(labels, options[i].Label)
	}
	return labels
}

func array(labels []string) string {
	text, err := json.Marshal(labels)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestAnInboxIsAnsweredInItsOwnTypes(t *testing.T) {
	t.Parallel()
	d, _ := dialect.Lookup("langgraph")
	a := basic(t, d, "langgraph-basic")
	for name, c := range map[string]struct {
		answers []ask.Answer
		want    string
	}{
		"accept":             {[]ask.Answer{{QuestionID: "action", Selected: []string{"accept"}}}, `[{"type":"accept","args":null}]`},
		"ignore":             {[]ask.Answer{{QuestionID: "action", Selected: []string{"ignore"}}, {QuestionID: "arguments", Text: "{}"}}, `[{"type":"ignore","args":null}]`},
		"edit":               {[]ask.Answer{{QuestionID: "action", Selected: []string{"edit"}}, {QuestionID: "arguments", Text: `{"to":"li"}`}}, `[{"type":"edit","args":{"action":"send_email","args":{"to":"li"}}}]`},
		"edit without words": {[]ask.Answer{{QuestionID: "action", Selected: []string{"edit"}}}, `[{"type":"response","args":"edit the arguments, but no new ones were given"}]`},
		"an invalid edit":    {[]ask.Answer{{QuestionID: "action", Selected: []string{"edit"}}, {QuestionID: "arguments", Text: `{to}`}}, `[{"type":"response","args":"edit the arguments: {to}"}]`},
		"their own words":    {[]ask.Answer{{QuestionID: "action", Other: "shorter", Notes: "please"}}, `[{"type":"response","args":"shorter\nA note on \"Action: send_email\\n\\n{\\n  \\\"to\\\": \\\"mei@example.com\\\",\\n  \\\"subject\\\": \\\"Hi\\\"\\n}\": please"}]`},
	} {
		o := &ask.Outcome{Status: ask.StatusAnswered, Answers: c.answers}
		if got := string(d.Answer(&a, o).Body); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestSeveralChoicesAreTypedIntoCodex(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1,3": "[a c]", "z, 🙂": "[b d]", "x， y": "[a]"} {
		given, err := in(t, "codex").Reply(mixed(), []byte(`{"answers":{"parts":{"answers":[`+quote(text)+`]}}}`))
		if err != nil || fmt.Sprint(given.Reply.Answers[1].Selected) != want {
			t.Errorf("%q: %v, %s", text, err, dump(given))
		}
	}
}

func TestTheTimesOfAnAsk(t *testing.T) {
	t.Parallel()
	timed := func(times string) []byte {
		return []byte(`{"questions":[{"question":"Deploy?","type":"boolean"}],` + times + `}`)
	}
	a, _, err := in(t, "typed").Ask(timed(`"deadline":"2026-11-20T11:00:00Z","atDeadline":"expire"`))
	if err != nil || !a.Deadline.Equal(asktest.Deadline) {
		t.Errorf("%v: %s", err, dump(a))
	}
	for times, want := range map[string]string{
		`"timeout":"soon"`:  `/timeout: is "soon"; use a duration such as 30m`,
		`"timeout":"0s"`:    `/timeout: is zero; use at least 1s, or leave it out`,
		`"deadline":"soon"`: `/deadline: is "soon"; use a time such as 2026-11-20T10:00:00Z`,
		`"timeout":"1h","deadline":"2026-11-20T11:00:00Z"`: `/timeout: is given together with deadline; give one of them`,
		`"atDeadline":"guess"`:                             `/atDeadline: is "guess"; use expire or default`,
		`"atDeadline":"default"`:                           `/questions/0/default: is missing; with at_deadline "default" every required question needs one`,
		`"timeout":true`:                                   `/timeout: is a boolean; give a duration such as "30m"`,
		`"timeout_ms":0`:                                   `/timeout_ms: is zero; use at least 1s, or leave it out`,
		`"timeout":-3600`:                                  `/timeout: is -3600; use 1s to 720h`,
		`"timeout":"-3600"`:                                `/timeout: is -3600; use 1s to 720h`,
		`"timeout":"-5s"`:                                  `/timeout: is -5s; use 1s to 720h`,
		`"timeout":-0.000000000001`:                        `/timeout: is -0.000000000001; use 1s to 720h`,
		`"timeout_ms":1000,"timeoutSeconds":5`:             `/timeoutSeconds: is given together with timeout_ms; give one of them`,
	} {
		_, _, err := in(t, "typed").Ask(timed(times))
		if got := problems(t, err); !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s: %s", times, got)
		}
	}
}

// An unknown label of a default is a fault: without it the default would be another choice.
func TestADefaultChoosesOnlyWhatIsOffered(t *testing.T) {
	t.Parallel()
	const typed = `{"at_deadline":"default","questions":[{"question":"Which?","type":"choice","multiSelect":%t,"options":[{"label":"A"},{"label":"B"}],"default":%s}]}`
	const single = `{"question":"Which?","options":["A","B"],"multiSelect":%t,"at_deadline":"default","default":%s}`
	for _, c := range []struct {
		name, body, at string
		multiple       bool
		preset, want   string
	}{
		{"typed", typed, "/questions/0/default", true, `["A","Bee"]`, `option "Bee" does not exist; the options are "A", "B"`},
		{"typed", typed, "/questions/0/default", true, `["X","Y"]`, `option "Y" does not exist; the options are "A", "B"`},
		{"typed", typed, "/questions/0/default", false, `"nope"`, `option "nope" does not exist; the options are "A", "B"`},
		{"typed", typed, "", true, `["B","o1","B"]`, `[o2 o1]`},
		{"claude-code", typed, "/questions/0/default", true, `"A, Bee"`, `option "Bee" does not exist; the options are "A", "B"`},
		{"claude-code", single, "/default", true, `["A","Production"]`, `option "Production" does not exist; the options are "A", "B"`},
		{"claude-code", single, "/default", false, `"nope"`, `option "nope" does not exist; the options are "A", "B"`},
		{"claude-code", single, "/default", false, `["A","B"]`, `2 answers are given; choose one`},
		{"claude-code", single, "", true, `"B, A"`, `[o2 o1]`},
		{"claude-code", single, "", false, `"B"`, `[o2]`},
	} {
		a, _, err := in(t, c.name).Ask(fmt.Appendf(nil, c.body, c.multiple, c.preset))
		if got := problems(t, err); c.at != "" {
			if !strings.Contains(got, "\n"+c.at+": "+c.want+"\n") || strings.Contains(got, "leave it out") {
				t.Errorf("%s with %s: %s", c.name, c.preset, got)
			}
		} else if err != nil || fmt.Sprint(a.Questions[0].Default.Selected) != c.want {
			t.Errorf("%s with %s: %s%s", c.name, c.preset, dump(a), got)
		}
	}
}

func TestDialectsAreFoundByName(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		if found, ok := dialect.Lookup(strings.ToUpper(d.Name)); !ok || found.Name != d.Name || d.About == "" {
			t.Errorf("%q is not found", d.Name)
		}
	}
	if _, ok := dialect.Lookup("d7"); ok || !slices.Contains(dialect.Names(), "by-id") {
		t.Error("want no d7, and a by-id")
	}
	_, _, err := in(t, "by-id").Ask([]byte(`{`))
	if !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("the error is %v", err)
	}
}

func ExampleLookup() {
	d, _ := dialect.Lookup("by-id")
	a, _, err := d.Ask([]byte(`{"questions":[{"question_id":"pick","question":"Which?","options":[{"id":"c1","label":"First"},{"id":"c2","label":"Second"}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Plain())
	o := &ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "pick", Selected: []string{"c2"}}}}
	fmt.Println(string(d.Answer(&a, o).Body))
	// Output:
	// Which?
	//   1. First
	//   2. Second
	// Choose one: type its number or a part of its label.
	// {"status":"answered","answers":[{"question_id":"pick","selected_option_ids":["c2"]}]}
}

// What is of the wrong type in native JSON is named, without the types of Go.
func TestAWrongTypeInNativeJSONIsNamed(t *testing.T) {
	t.Parallel()
	_, _, err := in(t, "a2a").Ask([]byte(`{"messageId":"m","parts":[{"data":{"questions":[{"text":"Which?","multiple":"yes"}]}}]}`))
	if said := fmt.Sprint(err); !strings.Contains(said, `"questions.0.multiple" has a value of the wrong type (string)`) {
		t.Error(said)
	}
}

// Clients that fill in what a schema declares send the field of one question beside several, which says nothing.
func TestAFieldOfOneQuestionBesideSeveralIsNoWarning(t *testing.T) {
	t.Parallel()
	for several, warned := range map[string]int{"false": 0, "true": 1} {
		a, warnings, err := in(t, "claude-code").Ask([]byte(`{"multiselect":` + several + `,"questions":[{"question":"Which?","header":"H","options":[{"label":"a"},{"label":"b"}]}]}`))
		if err != nil || a.Questions[0].Multiple || len(warnings) != warned {
			t.Error(several, warnings, err)
		}
	}
}
