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

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

const oneQuestion = `{"questions":[{"question":"Which one?","header":"One","multiSelect":true,"options":[{"label":"Search, full text"},{"label":"Export"}]},
 {"question":"Sure?","header":"Two","options":[{"label":"Yes"},{"label":"No"}]}]}`

func TestHookCallsAboutOtherThingsAreNotOurs(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"another tool":  `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		"another event": `{"hook_event_name":"SessionStart","session_id":"s"}`,
	} {
		if call, ok, err := dialect.D3Hook([]byte(body)); ok || err != nil || call.Event != "" {
			t.Errorf("%s: %+v, %v, %v", name, call, ok, err)
		}
	}
	_, _, err := dialect.D3Hook([]byte(`{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":7}]}}`))
	if err == nil || !strings.Contains(err.Error(), "/tool_input/questions/0/question: is a number") {
		t.Errorf("the error is %v", err)
	}
}

func TestHookKeepsTheIDsOfItsHost(t *testing.T) {
	t.Parallel()
	body := `{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","session_id":"a b","tool_use_id":"toolu_01","cwd":"/w","permission_mode":"plan","tool_input":` + oneQuestion + `}`
	call, ok, err := dialect.D3Hook([]byte(body))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if call.Ask.ID != "toolu_01" || call.Ask.Session != ask.Token("a b") || call.CWD != "/w" || call.Mode != "plan" {
		t.Errorf("the call is %+v", call)
	}
}

func TestAnswersInTheTerminalAreRead(t *testing.T) {
	t.Parallel()
	want := []ask.Answer{{QuestionID: "q1", Selected: []string{"o1"}, Other: "more"}, {QuestionID: "q2", Selected: []string{"o2"}}}
	for name, c := range map[string]struct {
		response string
		want     ask.Reply
		ok       bool
	}{
		"as the tool's output":   {`{"questions":[],"answers":{"Which one?":"Search, full text, more","Sure?":"No"}}`, ask.Reply{Answers: want}, true},
		"as JSON in a string":    {quote(`{"answers":{"Which one?":["Search, full text","more"],"Sure?":"No"}}`), ask.Reply{Answers: want}, true},
		"as the host's sentence": {quote(`User has answered your questions: "Which one?"="Search, full text, more", "Sure?"="No". You can now continue with the user's answers in mind.`), ask.Reply{Answers: want}, true},
		"as content blocks":      {`{"content":[{"type":"text","text":"\"Which one?\"=\"Search, full text, more\", \"Sure?\"=\"No\""}]}`, ask.Reply{Answers: want}, true},
		"as other words":         {quote(`do what you like`), ask.Reply{Response: "do what you like"}, true},
		"an empty output":        {`{"answers":{}}`, ask.Reply{}, false},
		"no output":              {`null`, ask.Reply{}, false},
		"our own expiry":         {quote(`nobody answered by 2026-11-20T11:00:00Z; no decision was made`), ask.Reply{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `{"hook_event_name":"PostToolUse","tool_name":"AskUserQuestion","tool_use_id":"t","tool_input":` + oneQuestion + `,"tool_response":` + c.response + `}`
			call, ok, err := dialect.D3Hook([]byte(body))
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			reply, ok := call.Native()
			if ok != c.ok || ok && dump(reply) != dump(c.want) {
				t.Errorf("got %v\n%s\nwant %v\n%s", ok, dump(reply), c.ok, dump(c.want))
			}
			if call.Decide(&ask.Outcome{Status: ask.StatusAnswered, Answers: want}) != nil {
				t.Error("PostToolUse decides")
			}
		})
	}
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestToolTakesOneQuestionAndTimes(t *testing.T) {
	t.Parallel()
	call, err := dialect.D3Tool([]byte(`{"question":"Which?","options":[{"label":"a"},{"label":"b"}],"multiselect":true,"wait_seconds":30,"timeout":"9000h","ask_id":"x-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if call.Wait != 30*time.Second || call.Ask.Timeout != ask.MaxTimeout || call.Ask.ID != "x-1" || len(call.Warnings) != 1 {
		t.Errorf("the call is %s", dump(call))
	}
	if call, err := dialect.D3Tool([]byte(oneQuestion)); err != nil || call.Wait >= 0 {
		t.Errorf("a call that does not say how long waits %v, %v", call.Wait, err)
	}
	_, err = dialect.D3Tool([]byte(`{"question":"Which?","wait_seconds":-1,"timeout":"soon","ask_id":"a b"}`))
	if got := problems(t, err); strings.Count(got, "\n") != 4 {
		t.Errorf("the faults are %s", got)
	}
}

func TestPermissionCallsMayBeWrapped(t *testing.T) {
	t.Parallel()
	call, err := dialect.D3Permission([]byte(`{"tool_name":"AskUserQuestion","tool_use_id":"t-1","session_id":"s-1","input":` + oneQuestion + `}`))
	if err != nil || call.Ask.ID != "t-1" || call.Ask.Session != "s-1" {
		t.Errorf("%v: %s", err, dump(call.Ask))
	}
	_, err = dialect.D3Permission([]byte(`{"tool_name":"Bash","input":{"questions":[]}}`))
	if got := problems(t, err); !strings.Contains(got, "/tool_name: ") || !strings.Contains(got, "/input/questions: ") {
		t.Errorf("the faults are %s", got)
	}
	skipped := &ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "q1", Skipped: true}}}
	if out := string(call.Decide(skipped)); strings.Contains(out, "allow") {
		t.Errorf("allows without an answer: %s", out)
	}
}

func TestTranscriptsGoBothWays(t *testing.T) {
	t.Parallel()
	a, _, ok, err := dialect.TranscriptAsk([]byte(`{"type":"tool_use","id":"tool use 1","name":"AskUserQuestion","input":` + oneQuestion + `}`))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	o := &ask.Outcome{Status: ask.StatusAnswered, By: mei, Ask: &a, Answers: []ask.Answer{
		{QuestionID: "q1", Selected: []string{"o1", "o2"}, Notes: "soon"}, {QuestionID: "q2", Other: "maybe"},
	}}
	block := dialect.TranscriptAnswer(&a, o)
	if !strings.Contains(string(block), `"tool_use_id":"tool use 1"`) {
		t.Errorf("the block is %s", block)
	}
	reply, ok, err := dialect.TranscriptReply(&a, block)
	if err != nil || !ok || said(&a.Questions[0], reply.Answers[0]) != said(&a.Questions[0], o.Answers[0]) || reply.Answers[1].Other != "maybe" {
		t.Errorf("%v, %v: %s\n%s", ok, err, dump(reply), block)
	}
	o = &ask.Outcome{Status: ask.StatusExpired, Ask: &a}
	if _, ok, _ := dialect.TranscriptReply(&a, dialect.TranscriptAnswer(&a, o)); ok {
		t.Error("an expiry is read as an answer")
	}
	if _, _, ok, err := dialect.TranscriptAsk([]byte(`{"type":"tool_use","id":"x","name":"Bash","input":{}}`)); ok || err != nil {
		t.Errorf("another tool's block: %v, %v", ok, err)
	}
}

func TestTimesAreClippedWithAWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want ask.Ask }{
		"a deadline that has passed":  {ask.Ask{Deadline: asked.Add(-time.Hour)}, ask.Ask{Deadline: asked.Add(time.Second)}},
		"a deadline far ahead":        {ask.Ask{Deadline: asked.Add(9000 * time.Hour)}, ask.Ask{Deadline: asked.Add(ask.MaxTimeout)}},
		"a timeout that is too short": {ask.Ask{Timeout: 1}, ask.Ask{Timeout: time.Second}},
		"a timeout below zero":        {ask.Ask{Timeout: -time.Hour}, ask.Ask{Timeout: time.Second}},
	} {
		if warnings := dialect.ClipTimes(&c.in, asked); len(warnings) != 1 || dump(c.in) != dump(c.want) {
			t.Errorf("%s: %s %v", name, dump(c.in), warnings)
		}
	}
	fine := ask.Ask{Timeout: time.Hour}
	if warnings := dialect.ClipTimes(&fine, asked); warnings != nil || fine.Timeout != time.Hour {
		t.Errorf("%v", warnings)
	}
}

func TestFramesOfD4NameTheirQuestion(t *testing.T) {
	t.Parallel()
	a := mixed()
	frames, _ := dialect.D4Frames(a)
	for i, frame := range frames {
		var data struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(frame, &data); err != nil {
			t.Fatal(err)
		}
		if id, question := dialect.D4ID(data.ID); id != a.ID || question != i {
			t.Errorf("frame %d is %s, question %d", i, id, question)
		}
	}
	closed := dialect.D4Close(a, &ask.Outcome{Status: ask.StatusAnswered, By: mei})
	if want := `{"id":"deploy-42.1","status":"answered","by":"Mei on slack"}`; len(closed) != len(frames) || string(closed[0]) != want {
		t.Errorf("closed: %s", closed)
	}
}

// Whatever the labels, a screen that gives back what it showed gives back what
// was chosen.
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
		if err := a.Validate(asked); err != nil {
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
		for name, body := range map[string]string{
			"d1":       `{"answers":{"question-0":` + quote(strings.Join(shown(t, "d1", a, chosen), ",")) + `}}`,
			"d3":       `{"answers":{"Which?":` + quote(strings.Join(shown(t, "d3", a, chosen), ", ")) + `}}`,
			"d4":       `{"result":` + array(shown(t, "d4", a, chosen)) + `}`,
			"opencode": `{"answers":[` + array(shown(t, "opencode", a, chosen)) + `]}`,
			"vscode":   `{"answers":{"Question 1":{"selected":` + array(shown(t, "vscode", a, chosen)) + `}}}`,
		} {
			d, _ := dialect.Lookup(name)
			given, err := d.Reply(a, []byte(body))
			if err != nil || fmt.Sprint(given.Reply.Answers[0].Selected) != fmt.Sprint(want) {
				t.Fatalf("%s: %v, %s is not %v of %q", name, err, dump(given), want, body)
			}
		}
	}
}

// shown are the labels of the chosen options as a screen shows them.
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
		"accept":              {[]ask.Answer{{QuestionID: "action", Selected: []string{"accept"}}}, `[{"type":"accept","args":null}]`},
		"ignore":              {[]ask.Answer{{QuestionID: "action", Selected: []string{"ignore"}}, {QuestionID: "arguments", Text: "{}"}}, `[{"type":"ignore","args":null}]`},
		"edit":                {[]ask.Answer{{QuestionID: "action", Selected: []string{"edit"}}, {QuestionID: "arguments", Text: `{"to":"li"}`}}, `[{"type":"edit","args":{"action":"send_email","args":{"to":"li"}}}]`},
		"edit without words":  {[]ask.Answer{{QuestionID: "action", Selected: []string{"edit"}}}, `[{"type":"response","args":"edit the arguments, but no new ones were given"}]`},
		"edit that is broken": {[]ask.Answer{{QuestionID: "action", Selected: []string{"edit"}}, {QuestionID: "arguments", Text: `{to}`}}, `[{"type":"response","args":"edit the arguments: {to}"}]`},
		"their own words":     {[]ask.Answer{{QuestionID: "action", Other: "shorter", Notes: "please"}}, `[{"type":"response","args":"shorter\nA note on \"Action: send_email\\n\\n{\\n  \\\"to\\\": \\\"mei@example.com\\\",\\n  \\\"subject\\\": \\\"Hi\\\"\\n}\": please"}]`},
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
		given, err := dialect.CodexReply(mixed(), []byte(`{"answers":{"parts":{"answers":[`+quote(text)+`]}}}`))
		if err != nil || fmt.Sprint(given.Reply.Answers[1].Selected) != want {
			t.Errorf("%q: %v, %s", text, err, dump(given))
		}
	}
}

func TestTheTimesOfD2(t *testing.T) {
	t.Parallel()
	request := func(times string) []byte {
		return []byte(`{"questions":[{"question":"Deploy?","type":"boolean"}],` + times + `}`)
	}
	a, _, err := dialect.D2Ask(request(`"deadline":"2026-11-20T11:00:00Z","atDeadline":"expire"`))
	if err != nil || !a.Deadline.Equal(deadline) {
		t.Errorf("%v: %s", err, dump(a))
	}
	for times, want := range map[string]string{
		`"timeout":"soon"`:  `/timeout: is "soon"; use a duration such as 30m`,
		`"timeout":"0s"`:    `/timeout: is zero; use at least 1s, or leave it out`,
		`"deadline":"soon"`: `/deadline: is "soon"; use a time such as 2026-11-20T10:00:00Z`,
		`"timeout":"1h","deadline":"2026-11-20T11:00:00Z"`: `/timeout: is given together with deadline; give one of them`,
		`"atDeadline":"guess"`:                             `/atDeadline: is "guess"; use expire or default`,
		`"atDeadline":"default"`:                           `/questions/0/default: is missing; with at_deadline "default" every required question needs one`,
		`"timeout":5`:                                      `/timeout: is a number; give a string`,
	} {
		_, _, err := dialect.D2Ask(request(times))
		if got := problems(t, err); !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s: %s", times, got)
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
	if _, ok := dialect.Lookup("d7"); ok || !slices.Contains(dialect.Names(), "d5") {
		t.Error("there is no d7, and there is a d5")
	}
	_, _, err := dialect.D5Ask([]byte(`{`))
	if !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("the error is %v", err)
	}
}

func ExampleLookup() {
	d, _ := dialect.Lookup("d5")
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
