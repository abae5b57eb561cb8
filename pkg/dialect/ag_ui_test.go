package dialect_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// editing returns the interrupts of ag-ui-editing.txtar, whose first one is what AG-UI recommends for a
// tool call that a person may edit, and an outcome with these answers.
func editing(t *testing.T, args, note, lines, place string) (dialect.Dialect, ask.Ask, ask.Outcome) {
	t.Helper()
	text, err := os.ReadFile("testdata/requests/ag-ui-editing.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "-- request --\n")
	body, _, _ := strings.Cut(rest, "\n-- ask --")
	d, _ := dialect.Lookup("ag-ui")
	a, warnings, err := d.Ask([]byte(body))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	a.ID, a.Timeout, a.Deadline = "ask-1", 0, asktest.Deadline
	yes, pages := true, 3.0
	answers := []ask.Answer{
		{QuestionID: "i0-approved", Boolean: &yes},
		{QuestionID: "i0-editedArgs", Text: args},
		{QuestionID: "i1-quarter", Selected: []string{"Q1"}},
		{QuestionID: "i1-note", Text: note},
		{QuestionID: "i1-pages", Number: &pages},
		{QuestionID: "i1-lines", Text: lines},
		{QuestionID: "i1-place", Text: place},
		{QuestionID: "i2-value", Text: `{"color": "red"}`},
	}
	for i := range answers {
		answers[i].Skipped = answers[i].Empty()
	}
	if _, _, err := a.Check(ask.Reply{Answers: answers}); err != nil {
		t.Fatal(err)
	}
	return d, a, ask.Outcome{AskID: "ask-1", Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: answers, By: &ask.By{Name: "Mei"}, Ask: &a}
}

// What a form has no field for is typed as JSON, and is JSON in the payload; a screen that speaks AG-UI
// sends it as JSON.
func TestAGUIPayloadsHaveTheJSONThatWasTyped(t *testing.T) {
	t.Parallel()
	d, a, o := editing(t, "\n{\"to\": \"b@example.com\", \"cc\": [1, {\"x\": null}]} ", "", `["a", "b"]`, "by the sea")
	want := `{"resume":[{"interruptId":"mail","status":"resolved","payload":{"approved":true,"editedArgs":{"to":"b@example.com","cc":[1,{"x":null}]}}},` +
		`{"interruptId":"form","status":"resolved","payload":{"quarter":"Q1","pages":3,"lines":["a","b"],"place":"by the sea"}},` +
		`{"interruptId":"whole","status":"resolved","payload":{"color":"red"}}]}`
	body := d.Answer(&a, &o).Body
	if string(body) != want {
		t.Fatalf("got  %s\nwant %s", body, want)
	}
	given, err := d.Reply(&a, body)
	if err != nil {
		t.Fatal(err)
	}
	again := o
	again.Answers = given.Reply.Answers
	if body := d.Answer(&a, &again).Body; string(body) != want {
		t.Errorf("as a reply of a screen: %s", body)
	}
}

// An edit that is not JSON is no approval of the call as it was.
func TestAGUIPayloadsAreNotSentWithoutWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	d, a, o := editing(t, "{to: b@example.com}", "n", "", `{"city": "Kiel"}`)
	body := string(d.Answer(&a, &o).Body)
	want := `{"resume":[{"interruptId":"mail","status":"cancelled","metadata":{"dev.askbus/text":"editedArgs is not the JSON that the request wants: {to: b@example.com}"}},` +
		`{"interruptId":"form","status":"resolved","payload":{"quarter":"Q1","note":"n","pages":3,"place":{"city":"Kiel"}}},` +
		`{"interruptId":"whole","status":"resolved","payload":{"color":"red"}}]}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

// A schema without properties, as of z.object({}), asks for nothing but a yes.
func TestASchemaWithoutPropertiesIsAnApproval(t *testing.T) {
	t.Parallel()
	d := in(t, "ag-ui")
	a, _, err := d.Ask([]byte(`[{"id":"int-1","reason":"input_required","message":"Deploy?","responseSchema":{"type":"object","properties":{}}}]`))
	if err != nil || len(a.Questions) != 1 || a.Questions[0].Text != "Deploy?" {
		t.Fatal(a.Questions, err)
	}
	o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Name: "Mei"}, Answers: []ask.Answer{{QuestionID: a.Questions[0].ID, Selected: []string{"approve"}}}}
	if got := string(d.Answer(&a, &o).Body); got != `{"resume":[{"interruptId":"int-1","status":"resolved","payload":{"approved":true}}]}` {
		t.Error(got)
	}
	// Models read the payload and nothing beside it.
	o.Answers[0].Selected, o.Answers[0].Notes = []string{"reject"}, "not on a Friday"
	if got := string(d.Answer(&a, &o).Body); !strings.Contains(got, `"payload":{"approved":false,"reason":"not on a Friday"}`) {
		t.Error(got)
	}
}

// Numbers to choose from, as zod writes literals, are a choice, and the payload has the number.
func TestAGUINumbersAreChosen(t *testing.T) {
	t.Parallel()
	d := in(t, "ag-ui")
	a, warnings, err := d.Ask([]byte(`[{"id":"n","reason":"x","responseSchema":{"type":"object","properties":{"size":{"type":"number","enum":[1.0,2.50],"default":1.0},"all":{"type":"array","items":{"type":"number","enum":[1,2]}},` +
		`"union":{"anyOf":[{"type":"number","const":7},{"type":"number","const":8}]},"named":{"type":"integer","oneOf":[{"const":1,"title":"One","description":"less"},{"const":2}]},"words":{"anyOf":[{"type":"string","const":"a"},{"type":"string","const":"b"}]}}}}]`))
	if err != nil || len(warnings) > 0 || len(a.Questions) != 5 || len(a.Questions[0].Options) != 2 || a.Questions[3].Options[0].Label != "One" || a.Questions[3].Options[0].Description != "less" {
		t.Fatalf("%+v, %v, %v", a.Questions, warnings, err)
	}
	o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Ask: &a, Answers: []ask.Answer{
		{QuestionID: a.Questions[0].ID, Selected: []string{a.Questions[0].Options[1].ID}}, {QuestionID: a.Questions[1].ID, Text: "[1]"},
	}}
	for _, q := range a.Questions[2:] {
		o.Answers = append(o.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{q.Options[1].ID}})
	}
	body := d.Answer(&a, &o).Body
	if want := `{"resume":[{"interruptId":"n","status":"resolved","payload":{"size":2.50,"all":[1],"union":8,"named":2,"words":"b"}}]}`; string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	given, err := d.Reply(&a, bytes.Replace(body, []byte("2.50"), []byte("2.5"), 1)) // JavaScript writes the number so
	if err != nil || len(given.Reply.Answers) != 5 || given.Reply.Answers[0].Selected[0] != a.Questions[0].Options[1].ID {
		t.Errorf("%+v, %v", given.Reply.Answers, err)
	}
}

// A short body that refers often to something long makes no long request.
func TestAReferenceToSomethingLongIsNotFollowed(t *testing.T) {
	t.Parallel()
	a, _, err := in(t, "ag-ui").Ask([]byte(`[{"id":"i","reason":"r","responseSchema":{"properties":{"p":{"$ref":"#/$defs/A"}},"$defs":{"A":{"x":"` + strings.Repeat("y", ask.MaxLong) + `"}}}}]`))
	if err != nil || !strings.Contains(a.Questions[0].Text, `"$ref": "#/$defs/A"`) {
		t.Errorf("%.200s, %v", a.Questions[0].Text, err)
	}
}

// What pauses a graph of LangGraph, as @ag-ui/langgraph 0.0.43 passes it on: the calls of LangChain's middleware, a
// graph's own question, and a request of an agent inbox. Each is resumed with what the graph waits for.
func TestAGUIGraphsAreResumedInTheirOwnShape(t *testing.T) {
	t.Parallel()
	d := in(t, "ag-ui")
	a, warnings, err := d.Ask([]byte(`{"type":"interrupt","interrupts":[{"id":"calls","reason":"langgraph:interrupt","metadata":{"langgraph":{"raw":{"actionRequests":[{"name":"send","args":{"to":"a"}},{"name":"drop","args":{}}],` +
		`"reviewConfigs":[{"actionName":"send","allowedDecisions":["approve","edit","reject"]},{"actionName":"drop","allowedDecisions":["approve","reject"]}]},"ns":["x"],"resumable":true}}},` +
		`{"id":"own","reason":"langgraph:interrupt","metadata":{"langgraph":{"raw":{"text_to_revise":"Helo"}}}},` +
		`{"id":"inbox","reason":"langgraph:interrupt","metadata":{"langgraph":{"raw":[{"action_request":{"action":"say","args":{"x":1}},"config":{"allow_accept":true,"allow_edit":false,"allow_respond":true,"allow_ignore":true}}]}}}]}`))
	if err != nil || len(warnings) > 0 || len(a.Questions) != 5 || a.Context != "" || !strings.Contains(a.Questions[3].Text, `"text_to_revise": "Helo"`) {
		t.Fatalf("%+v, %v, %v", a, warnings, err)
	}
	o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Ask: &a, Answers: []ask.Answer{
		{QuestionID: "call-0-0", Selected: []string{"edit"}},
		{QuestionID: "call-0-0-args", Text: `{"to":"b"}`},
		{QuestionID: "call-0-1", Selected: []string{"reject"}, Notes: "keep it"},
		{QuestionID: "call-1-0", Text: "Hello"},
		{QuestionID: "call-2-0", Other: "louder"},
	}}
	want := `{"resume":[{"interruptId":"calls","status":"resolved","payload":{"decisions":[{"type":"edit","editedAction":{"name":"send","args":{"to":"b"}}},{"type":"reject","message":"keep it"}]}},{"interruptId":"own","status":"resolved","payload":"Hello"},{"interruptId":"inbox","status":"resolved","payload":[{"type":"response","args":"louder"}]}]}`
	body := d.Answer(&a, &o).Body
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	given, err := d.Reply(&a, body)
	if _, _, checked := a.Check(given.Reply); err != nil || checked != nil || len(given.Reply.Answers) != 5 {
		t.Errorf("%+v, %v, %v", given.Reply, err, checked)
	}
	for _, raw := range []string{`{}`, `"x"`, `{"action_request":{"action":"send","args":{}}}`, `[]`} { // are answered with words
		if a, _, err := d.Ask([]byte(`[{"id":"i","reason":"r","metadata":{"langgraph":{"raw":` + raw + `}}}]`)); err != nil || len(a.Questions) != 1 || a.Questions[0].Kind != ask.KindText {
			t.Errorf("%s: %+v, %v", raw, a.Questions, err)
		}
	}
	forged := ask.Ask{ID: "f", Metadata: a.Metadata, Questions: []ask.Question{{ID: "q", Kind: ask.KindText, Text: "?"}}} // an agent writes its own metadata
	if _, err := d.Reply(&forged, body); err == nil {
		t.Error("an interrupt without a question was answered")
	}
	_ = d.Answer(&forged, &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Ask: &forged, Answers: []ask.Answer{{QuestionID: "q", Text: "x"}}})
	o = ask.Outcome{Status: ask.StatusCancelled, Source: ask.SourceHuman, Ask: &a, Reason: "no"}
	if got := string(d.Answer(&a, &o).Body); !strings.Contains(got, `"payload":{"decisions":[{"type":"reject"`) || !strings.Contains(got, `{"interruptId":"own","status":"cancelled"`) {
		t.Error(got)
	}
}
