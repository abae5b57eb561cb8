package ask_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

func full() ask.Ask {
	return ask.Ask{
		ID: "deploy-42", Title: "Ledger storage", Context: "a <b> & c", Agent: ask.Agent{ID: "a-7", Name: "builder"},
		Priority: ask.PriorityHigh, Audience: []string{"group:platform"}, RequireResponder: true, Timeout: 2 * time.Hour,
		AtDeadline: ask.AtDeadlineDefault, Metadata: map[string]any{"source": "remember"},
		Questions: []ask.Question{
			{
				ID: "db", Kind: ask.KindChoice, Header: "Storage", Text: "Which?", Multiple: true, MinItems: 1, MaxItems: 2, NoOther: true,
				Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Recommended: true}, {ID: "no", Label: "None", Cancels: true}},
				Default: &ask.Answer{Selected: []string{"pg"}},
			},
			{ID: "t", Kind: ask.KindText, Text: "Name?", Optional: true, Limits: ask.Limits{MinLength: 1, Pattern: "^a"}, Default: &ask.Answer{Text: "abc"}},
			{ID: "n", Kind: ask.KindNumber, Text: "How many?", Limits: ask.Limits{Min: new(0.0), Max: new(9.5)}, Default: &ask.Answer{Number: new(3.0)}},
			{ID: "d", Kind: ask.KindDate, Text: "When?", Limits: ask.Limits{MinDate: "2026-01-01", MaxDate: "2026-12-31"}},
			{ID: "b", Kind: ask.KindBoolean, Text: "Sure?", Default: &ask.Answer{Boolean: new(false)}},
		},
	}
}

// TestJSONRoundTrip checks for every public type that json.Unmarshal reads what
// json.Marshal writes.
func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	a := full()
	at := time.Date(2026, 11, 20, 10, 2, 3, 0, time.UTC)
	asked := full()
	asked.Tenant, asked.Session, asked.Deadline, asked.Timeout = "acme", "s1", at.Add(time.Hour), 0
	o := ask.Outcome{
		AskID: "deploy-42", Tenant: "acme", Session: "s1", Status: ask.StatusAnswered, Source: ask.SourceHuman, AnswerID: "w1",
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Notes: "n"}, {QuestionID: "b", Boolean: new(true)}},
		By:      &ask.By{Principal: "os:mei", Name: "Mei", Groups: []string{"g"}, Responder: "web", Proof: "local"}, At: at, Waited: 1500 * time.Millisecond, Ask: &asked,
	}
	bare := o
	bare.Ask = &asked
	record := ask.Record{State: ask.StateResolved, Ask: asked, AskedAt: at, Life: "l7", Seq: 7, Outcome: &bare, Receipts: []ask.Receipt{{Type: "slack", Life: "l7", State: ask.ReceiptPosted, Places: []ask.Place{{Where: "#ops"}}, At: at}}}
	reply := ask.Reply{AnswerID: "w1", Answers: o.Answers, Response: "r", By: *o.By}
	key := o.Key()
	for name, v := range map[string]struct{ in, out any }{
		"ask": {&a, new(ask.Ask)}, "outcome": {&o, new(ask.Outcome)}, "record": {&record, new(ask.Record)}, "reply": {&reply, new(ask.Reply)}, "key": {&key, new(ask.Key)},
	} {
		data, err := json.Marshal(v.in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := json.Unmarshal(data, v.out); err != nil {
			t.Fatalf("%s: %v: %s", name, err, data)
		}
		if diff := cmp.Diff(v.in, v.out); diff != "" {
			t.Errorf("%s: %s\n%s", name, diff, data)
		}
	}
}

func TestJSONIsLenientToReaders(t *testing.T) {
	t.Parallel()
	var a ask.Ask
	err := json.Unmarshal([]byte(`{"id":"a","tenant":"evil","new_field":1,"questions":[{"kind":"hologram","text":"?","shape":{}}]}`), &a)
	if err != nil || a.Tenant != "" || a.Questions[0].Kind != "hologram" {
		t.Errorf("%+v, %v", a, err)
	}
	for _, bad := range []string{`{"timeout":"soon"}`, `{"timeout":5}`, `{"questions":[{"limits":{"min":"today"}}]}`, `{"questions":[{"default":{}}]}`} {
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%s is read as %+v", bad, a)
		}
	}
}

func TestEndingSaysWhoAndWhere(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 10, 2, 3, 0, time.UTC)
	mei := &ask.By{Principal: "os:mei", Name: "Mei", Responder: "slack"}
	for want, o := range map[string]ask.Outcome{
		"answered at 10:02:03 UTC":                              {Status: ask.StatusAnswered},
		"answered by os:mei at 10:02:03 UTC":                    {Status: ask.StatusAnswered, By: &ask.By{Principal: "os:mei"}},
		"answered by Mei on Slack at 10:02:03 UTC":              {Status: ask.StatusAnswered, By: mei},
		"declined by Mei on Slack at 10:02:03 UTC: too soon":    {Status: ask.StatusCancelled, By: mei, Reason: "too soon"},
		"withdrawn by the agent at 10:02:03 UTC":                {Status: ask.StatusWithdrawn},
		"withdrawn by an operator at 10:02:03 UTC: halt":        {Status: ask.StatusAborted, Reason: "halt"},
		"answered by a policy at 10:02:03 UTC, not by a person": {Status: ask.StatusAnswered, Source: ask.SourcePolicy, By: mei},
		"expired at 10:02:03 UTC: nobody answered in time":      {Status: ask.StatusExpired},
	} {
		o.At = at
		if got := o.EndingAt(time.UTC); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := o.Ending(); strings.Contains(got, "10:02") {
			t.Errorf("%q has a time", got)
		}
	}
}

func ExampleAsk_MarshalJSON() {
	data, _ := json.Marshal(ask.Ask{ID: "deploy-42", Timeout: 2 * time.Hour, Questions: []ask.Question{{Text: "Which?", Options: []ask.Option{{Label: "A"}, {Label: "B"}}}}})
	fmt.Println(string(data))
	// Output: {"id":"deploy-42","questions":[{"text":"Which?","options":[{"label":"A"},{"label":"B"}],"allow_other":true,"required":true}],"timeout":"2h0m0s"}
}

// A field of a newer peer is kept at every depth, also where a type reads itself.
func TestUnknownFieldsOfLimitsAndApprovalsAreKept(t *testing.T) {
	t.Parallel()
	for what, body := range map[string]string{
		"limits":          `{"id":"a","questions":[{"id":"q","text":"?","limits":{"min":1,"newer":true}}]}`,
		"approval":        `{"id":"a","questions":[{"id":"q","text":"?"}],"approval":{"any_of":[{"need":1}],"newer":true,"fresh":"1h"}}`,
		"below approval":  `{"id":"a","questions":[{"id":"q","text":"?"}],"approval":{"any_of":[{"need":1,"newer":{}}]}}`,
		"the ask itself":  `{"id":"a","questions":[{"id":"q","text":"?"}],"newer":1}`,
		"nothing unknown": `{"id":"a","questions":[{"id":"q","text":"?","limits":{"min":1}}],"approval":{"any_of":[{"need":1}],"fresh":"1h"}}`,
	} {
		var a ask.Ask
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if kept := string(a.Raw) == body; kept != strings.Contains(body, "newer") {
			t.Errorf("%s: kept %q", what, a.Raw)
		}
		if a.Approval != nil && strings.Contains(body, "fresh") && a.Approval.Fresh != time.Hour {
			t.Errorf("%s: fresh is %s", what, a.Approval.Fresh)
		}
	}
	if err := json.Unmarshal([]byte(`{"min":1,"newer":2}`), new(ask.Limits)); err != nil {
		t.Error(err)
	}
}
