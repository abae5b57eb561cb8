package dialect_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// requests returns one question with two options in every dialect that asks
// questions; the first %s is for fields of the body, the second for fields of
// the question.
func requests() map[string]string {
	const options = `"options":[{"label":"A","id":"a"},{"label":"B","id":"b"}]`
	family := `{"agentId":"x","questions":[{"question":"Which?","header":"H",` + options + `%[2]s}]%[1]s}`
	return map[string]string{
		"event-pair":  family,
		"typed":       family,
		"claude-code": family,
		"opencode":    family,
		"gemini":      family,
		"vscode":      family,
		"codex":       `{"questions":[{"id":"q","question":"Which?","header":"H",` + options + `%[2]s}]%[1]s}`,
		"interact":    `{"sessionId":"s","question":"Which?",` + options + `%[2]s%[1]s}`,
		"by-id":       `{"questions":[{"question_id":"q","question":"Which?",` + options + `%[2]s}]%[1]s}`,
	}
}

func request(name, body, question string) []byte {
	return fmt.Appendf(nil, requests()[name], body, question)
}

func TestSeveralChoicesAreUnderstoodInEverySpelling(t *testing.T) {
	t.Parallel()
	for name := range requests() {
		for _, key := range []string{"multiSelect", "multi_select", "multiselect", "allow_multiple", "allowMultiple", "multiple"} {
			a, warnings, err := in(t, name).Ask(request(name, "", `,"`+key+`":true`))
			if err != nil || !a.Questions[0].Multiple || strings.Contains(lines(warnings), key) {
				t.Errorf("%s: %s was not accepted: %v, %v", name, key, err, warnings)
			}
			if a, _, err := in(t, name).Ask(request(name, "", `,"`+key+`":false`)); err != nil || a.Questions[0].Multiple {
				t.Errorf("%s: %s false: %v", name, key, err)
			}
			_, _, err = in(t, name).Ask(request(name, "", `,"`+key+`":"yes"`))
			if got := problems(t, err); !strings.Contains(got, "/"+key+": is a string; give true or false") {
				t.Errorf("%s: the faults are %s", name, got)
			}
		}
	}
	_, _, err := in(t, "event-pair").Ask(request("event-pair", "", `,"multiSelect":false,"allow_multiple":true`))
	if got := problems(t, err); !strings.Contains(got, "/questions/0/allow_multiple: contradicts multiSelect; give one of them") {
		t.Errorf("two spellings that contradict: %s", got)
	}
}

func TestMultipleWithoutOptionsIsDroppedWithAWarning(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"typed":       `{"questions":[{"question":"How many?","header":"H","type":"number","allow_multiple":true}]}`,
		"gemini":      `{"questions":[{"question":"Which?","header":"H","type":"text","allow_multiple":true}]}`,
		"codex":       `{"questions":[{"id":"q","question":"Which?","header":"H","allow_multiple":true}]}`,
		"opencode":    `{"questions":[{"question":"Which?","header":"H","options":[],"allow_multiple":true}]}`,
		"vscode":      `{"questions":[{"question":"Which?","header":"H","allow_multiple":true}]}`,
		"interact":    `{"sessionId":"s","question":"Which?","allow_multiple":true}`,
		"elicitation": `{"message":"m","requestedSchema":{"type":"object","properties":{"p":{"type":"string","enum":["a","b"],"allow_multiple":true}}}}`,
	} {
		a, warnings, err := in(t, name).Ask([]byte(body))
		if err != nil || a.Questions[0].Multiple || !strings.Contains(lines(warnings), "/allow_multiple: is dropped: ") {
			t.Errorf("%s: %v, %v", name, err, warnings)
		}
	}
}

func TestAFieldThatIsDroppedIsNamed(t *testing.T) {
	t.Parallel()
	for name := range requests() {
		_, warnings, err := in(t, name).Ask(request(name, `,"colour":"red","nothing":null`, `,"shuffle":{"seed":1}`))
		got := lines(warnings)
		for _, want := range []string{"/colour: is unknown; it is dropped", "/shuffle: is unknown; it is dropped"} {
			if err != nil || strings.Count(got, want) != 1 || strings.Contains(got, "nothing") || strings.Contains(got, "seed") {
				t.Errorf("%s: %v\n%s", name, err, got)
			}
		}
	}
	for name, body := range map[string]string{
		"langgraph":   `{"action_request":{"action":"send","args":{"free":{"form":1}}},"config":{"allow_accept":true,"allow_later":true}}`,
		"elicitation": `{"message":"m","requestedSchema":{"type":"object","properties":{"p":{"type":"number","multipleOf":5}}}}`,
	} {
		if _, warnings, err := in(t, name).Ask([]byte(body)); err != nil || len(warnings) != 1 {
			t.Errorf("%s: %v, %v", name, err, warnings)
		}
	}
	many := strings.Repeat(`,"k%d":1`, 500)
	for i := range 500 {
		many = strings.Replace(many, "%d", fmt.Sprint(i), 1)
	}
	if _, warnings, err := in(t, "codex").Ask(request("codex", many, "")); err != nil || len(warnings) > 50 {
		t.Errorf("%v, and %d warnings", err, len(warnings))
	}
}

// What generators write into a schema, and no form can check, refuses no question.
func TestTheLimitsOfGeneratedSchemas(t *testing.T) {
	t.Parallel()
	limit := func(n float64) *float64 { return &n }
	email := `Give an email address such as mei@example.com.`
	for schema, want := range map[string]struct {
		good, bad string
		limits    ask.Limits
		warning   string
	}{
		`{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)[a-z@.]+$"}`:  {"mei@example.com", "mei", ask.Limits{Message: email}, "/pattern: is not checked"},
		`{"type":"string","format":"email","pattern":"@corp\\.com$"}`:                   {"mei@corp.com", "mei@example.com", ask.Limits{}, ""},
		`{"type":"string","pattern":"^(?=a)"}`:                                          {"b", "", ask.Limits{}, "/pattern: is not checked"},
		`{"type":"string","maxLength":1000000}`:                                         {"b", "", ask.Limits{MaxLength: ask.MaxLong}, ""},
		`{"type":"integer","exclusiveMinimum":0,"minimum":-9,"exclusiveMaximum":10}`:    {"9", "0", ask.Limits{Integer: true, Min: limit(1), Max: limit(9)}, ""},
		`{"type":"integer","exclusiveMinimum":-1.5,"maximum":3,"exclusiveMaximum":9.5}`: {"-1", "4", ask.Limits{Integer: true, Min: limit(-1), Max: limit(3)}, ""},
		`{"type":"number","exclusiveMinimum":0}`:                                        {"0.1", "-0.1", ask.Limits{Min: limit(0)}, "/exclusiveMinimum: is checked as minimum"},
		`{"type":"number","minimum":2,"exclusiveMinimum":true}`:                         {"2", "1", ask.Limits{Min: limit(2)}, "/exclusiveMinimum: is checked as minimum"},
	} {
		a, warnings, err := in(t, "elicitation").Ask([]byte(`{"message":"m","requestedSchema":{"type":"object","properties":{"p":` + schema + `},"required":["p"]}}`))
		if err != nil || (len(warnings) > 0) != (want.warning != "") || !strings.Contains(lines(warnings), want.warning) {
			t.Errorf("%s: %v, %v", schema, warnings, err)
			continue
		}
		l := a.Questions[0].Limits
		l.Pattern = ""
		if !reflect.DeepEqual(l, want.limits) {
			t.Errorf("%s: %+v", schema, l)
		}
		for text, valid := range map[string]bool{want.good: true, want.bad: want.bad == ""} {
			answer := ask.Answer{QuestionID: a.Questions[0].ID, Text: text}
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				answer = ask.Answer{QuestionID: a.Questions[0].ID, Number: &n}
			}
			if text == "" {
				continue
			}
			if _, _, err := a.Check(ask.Reply{Answers: []ask.Answer{answer}}); (err == nil) != valid {
				t.Errorf("%s: %q: %v", schema, text, err)
			}
		}
	}
}

// A list of texts, which a model in Python may have, is typed in lines, and comes back as a list.
func TestAListOfTextsIsTypedInLines(t *testing.T) {
	t.Parallel()
	d := in(t, "elicitation")
	a, warnings, err := d.Ask([]byte(`{"message":"m","requestedSchema":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"},"title":"Tags","default":["a","b"]}},"required":["tags"]}}`))
	if err != nil || len(warnings) > 0 || a.Questions[0].Text != "Tags\n\nOne per line." || a.Questions[0].Default.Text != "a\nb" {
		t.Fatalf("%+v, %v, %v", a.Questions, warnings, err)
	}
	o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Ask: &a, Answers: []ask.Answer{{QuestionID: "tags", Text: "x, y\n\nz\n"}}}
	body := d.Answer(&a, &o).Body
	if want := `{"action":"accept","content":{"tags":["x, y","z"]}}`; string(body) != want {
		t.Errorf("got %s", body)
	}
	if given, err := d.Reply(&a, body); err != nil || given.Reply.Answers[0].Text != "x, y\nz" {
		t.Errorf("%+v, %v", given.Reply, err)
	}
	if shown, _ := d.Show(&a); !strings.Contains(string(shown), `"default":"a\nb"`) {
		t.Errorf("shown as %s", shown)
	}
	o = ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Ask: &a, Response: "later"}
	if got := string(d.Answer(&a, &o).Body); strings.Contains(got, `"tags"`) {
		t.Error(got)
	}
}

func TestATimeLimitIsReadInEverySpelling(t *testing.T) {
	t.Parallel()
	for name := range requests() {
		for times, want := range map[string]time.Duration{
			`"timeout":"30m"`:            30 * time.Minute,
			`"timeout":300`:              5 * time.Minute,
			`"timeout":"300"`:            5 * time.Minute,
			`"timeout_ms":90000`:         90 * time.Second,
			`"timeoutMs":90000.0`:        90 * time.Second,
			`"timeoutMS":90000`:          90 * time.Second,
			`"timeout_seconds":90`:       90 * time.Second,
			`"timeoutSeconds":90`:        90 * time.Second,
			`"timeoutMinutes":2`:         2 * time.Minute,
			`"autoResolutionMs":90000`:   90 * time.Second,
			`"expires_in":90`:            90 * time.Second,
			`"seconds":90`:               90 * time.Second,
			`"timeout_ms":1e300`:         ask.MaxTimeout,
			`"timeout_ms":1`:             ask.MinTimeout,
			`"time_limit":"1h"`:          time.Hour,
			`"timeout":null,"ttl":"90s"`: 90 * time.Second,
		} {
			a, warnings, err := in(t, name).Ask(request(name, ","+times, ""))
			if err != nil || a.Timeout != want || strings.Contains(lines(warnings), "dropped\n/t") {
				t.Errorf("%s: %s is %v, %v, %v", name, times, a.Timeout, err, warnings)
			}
		}
		a, _, err := in(t, name).Ask(request(name, `,"expiresAt":"2026-11-20T11:00:00Z"`, ""))
		if err != nil || !a.Deadline.Equal(asktest.Deadline) {
			t.Errorf("%s: expiresAt: %v, %v", name, a.Deadline, err)
		}
		for _, at := range []string{`"2026-11-20T11:00:00"`, `"2026-11-20 11:00:00.000000"`, `1795172400`, `1795172400000`} { // what Python and JavaScript write
			a, warnings, err := in(t, name).Ask(request(name, `,"expiresAt":`+at, ""))
			if err != nil || !a.Deadline.Equal(asktest.Deadline) || !strings.Contains(lines(warnings), "it is read as 2026-11-20T11:00:00Z") {
				t.Errorf("%s: expiresAt %s: %v, %v, %v", name, at, a.Deadline, warnings, err)
			}
		}
		if _, _, err := in(t, name).Ask(request(name, `,"deadline":3600`, "")); err == nil {
			t.Errorf("%s: a duration is taken for a time in 1970", name)
		}
	}
	_, warnings, _ := in(t, "codex").Ask(request("codex", `,"timeout":300`, ""))
	if got := lines(warnings); !strings.Contains(got, "/timeout: is a number without a unit; it is read as 5m0s") {
		t.Errorf("the unit was guessed without a warning: %s", got)
	}
}

func TestAllFaultsAreReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"event-pair": {
			`{"timeout":"soon","questions":[{"question":7,"multiple":"x","options":[{"label":"A"},{"label":"A"},{},{"label":"B"},{"label":"C"}]},{"question":"","header":"H","options":[]},{},{},{}]}`,
			[]string{"/timeout: ", "/questions: has 5", "/questions/0/question: ", "/questions/0/multiple: ", "/questions/0/options: has 5", "/questions/0/options/1/label: ", "/questions/0/options/2/label: ", "/questions/1/question: ", "/questions/1/options: ", "/questions/4/question: "},
		},
		"by-id": {
			`{"questions":[{"question_id":"q","question":"","options":[{"id":"a"},{"id":"a"}]},{"question_id":"q","question":"x","allow_multiple":3,"options":[{"id":"a","label":"A"}]}],"deadline":"now"}`,
			[]string{"/deadline: ", "/questions/0/question: ", "/questions/0/options/1/id: ", "/questions/1/question_id: ", "/questions/1/allow_multiple: "},
		},
	} {
		_, _, err := in(t, name).Ask([]byte(c.body))
		got := "\n" + problems(t, err)
		for _, want := range c.want {
			if !strings.Contains(got, "\n"+want) {
				t.Errorf("%s does not say %s\n%s", name, want, got)
			}
		}
	}
}

func TestOrdinaryRequestsHaveNoWarnings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"请选择数据库", "Pick a database.", "Which?"} {
		body := strings.Replace(string(request("claude-code", "", "")), "Which?", text, 1)
		body = strings.Replace(body, `"agentId":"x",`, "", 1)
		body = strings.ReplaceAll(strings.ReplaceAll(body, `,"id":"a"`, ""), `,"id":"b"`, "")
		if _, warnings, err := in(t, "claude-code").Ask([]byte(body)); err != nil || len(warnings) != 0 {
			t.Errorf("%s: %v, %v", text, err, warnings)
		}
	}
}

func TestEveryCommaSeparates(t *testing.T) {
	t.Parallel()
	a := &ask.Ask{ID: "x", Session: "s", Questions: []ask.Question{{Text: "Which?", Multiple: true, Options: []ask.Option{{Label: "前端"}, {Label: "后端"}, {Label: "a，b"}}}}}
	a.Normalize()
	for text, want := range map[string]string{
		"前端,后端": "[o1 o2] ", "前端， 后端": "[o1 o2] ", "前端、后端": "[o1 o2] ", "后端、a，b，前端": "[o2 o3 o1] ", "前端、别的": "[o1] 别的", "别的，东西": "[] 别的，东西",
	} {
		for name, body := range map[string]string{
			"event-pair":  `{"answers":{"question-0":` + quote(text) + `}}`,
			"claude-code": `{"answers":{"Which?":` + quote(text) + `}}`,
			"gemini":      text,
			"codex":       `{"answers":{"q1":{"answers":[` + quote(text) + `]}}}`,
		} {
			given, err := in(t, name).Reply(a, []byte(body))
			if err != nil {
				t.Fatal(name, err)
			}
			if ans := given.Reply.Answers[0]; fmt.Sprint(ans.Selected)+" "+ans.Other != want {
				t.Errorf("%s: %s is %v and %q, not %s", name, text, ans.Selected, ans.Other, want)
			}
		}
	}
}

func TestAPreviewGoesBackAsItCame(t *testing.T) {
	t.Parallel()
	d := in(t, "claude-code")
	a, _, err := d.Ask([]byte(`{"questions":[{"question":"Which?","options":[{"label":"A","markdown":"+-+"},{"label":"B","preview":"+-+"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := d.Show(&a)
	for _, body := range [][]byte{shown, d.Answer(&a, &ask.Outcome{Status: ask.StatusAnswered}).Body} {
		if got := string(body); !strings.Contains(got, `"label":"A","description":"","markdown":"+-+"`) || !strings.Contains(got, `"label":"B","description":"","preview":"+-+"`) {
			t.Errorf("it goes back as %s", got)
		}
	}
}

func TestNotesAreThePersonsOwn(t *testing.T) {
	t.Parallel()
	d := in(t, "claude-code")
	a := basic(t, d, "claude-code-basic")
	for _, row := range asktest.Outcomes(&a) {
		body := string(d.Answer(&a, &row.Outcome).Body)
		if want := row.Name == "answered with notes and a response"; strings.Contains(body, `"notes":`) != want {
			t.Errorf("%s: %s", row.Name, body)
		}
	}
}

func TestAPendingAnswerHasNoAddress(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		r := d.Pending(mixed(), dialect.Pending{Location: "/t/secret/v1/asks/s1/x"})
		if strings.Contains(string(r.Body), "secret") || r.Header["Location"] == "" {
			t.Errorf("%s: %v %s", d.Name, r.Header, r.Body)
		}
	}
}

func TestTheOldNamesAreAliases(t *testing.T) {
	t.Parallel()
	for alias, name := range map[string]string{"d1": "event-pair", "d2": "typed", "D3": "claude-code", "d4": "interact", "d5": "by-id"} {
		if d, ok := dialect.Lookup(alias); !ok || d.Name != name || slices.Contains(dialect.Names(), alias) {
			t.Errorf("%s is %q", alias, d.Name)
		}
	}
}
