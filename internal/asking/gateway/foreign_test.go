package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

func (d *fixture) host(name, secret string) int {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), "GET", d.url+"/v1/asks", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Host = name
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := d.http.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func (d *fixture) somebodyIsThere() {
	d.t.Helper()
	leave, err := d.people.Present("", "")
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(leave)
}

// An agent that does not wait gets a response at once, and the outcome when it comes back.
func TestAnAgentNeedNotWait(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	res := d.do(agent, "POST", "/v1/asks?dialect=codex&wait=10m", `{"isBlocking":false,"questions":[{"id":"q","header":"H","question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`).want(t, 202)
	waiting := d.meanwhile(agent, "GET", res.header.Get("Location"), "")
	rec := d.pending("s1", "")
	d.answers(rec.Ask.Key(), ask.Answer{QuestionID: "q", Selected: []string{"o2"}})
	(<-waiting).want(t, 200, `["B"]`)
}

// The id of a body names the ask at every entrance: a repeat attaches, and another question is refused.
func TestTheIDOfABodyNamesTheAsk(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	d.somebodyIsThere()
	agent := d.agent("*")
	const pair = `{"id":%q,"agentId":"x","questions":[{"question":"%s?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}`
	const single = `{"id":%q,"sessionId":"s1","question":"%s?","options":[{"label":"A"},{"label":"B"}]}`
	const event = `{"specversion":"1.0","id":"e-%[2]s","source":"host","type":"ask:question:request","data":{"id":%[1]q,"questions":[{"question":"%[2]s?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}}`
	for n, c := range []struct {
		path, body string
		pending    int
		echoes     bool // the shape has the id
	}{
		{"/v1/asks?dialect=event-pair&session=s1", pair, 202, true},
		{"/v1/asks?dialect=typed&session=s1", pair, 202, true},
		{"/v1/asks?dialect=interact&wait=1ms", single, 504, false},
		{"/api/interact/ask?wait=1ms", single, 504, false},
		{"/v1/events?session=s1", event, 202, true},
	} {
		for _, id := range []string{fmt.Sprintf("call-%d", n), fmt.Sprintf("call:%d.5", n)} {
			says := ask.Token(id)
			if c.echoes {
				says = `"id":` + strconv.Quote(id)
			}
			kind := []string{"Content-Type", "application/json"}
			if c.body == event {
				kind = []string{"Content-Type", "application/cloudevents+json"}
			}
			for range 2 {
				res := d.do(agent, "POST", c.path, fmt.Sprintf(c.body, id, "Which"), kind...).want(t, c.pending, says)
				if at := res.header.Get("Location"); !strings.Contains(at, "/v1/asks/s1/"+ask.Token(id)+"?") || res.header.Get("Askbus-Warnings") != "" {
					t.Errorf("%s is asked at %s: %v", c.path, at, res.header)
				}
			}
			d.do(agent, "POST", c.path, fmt.Sprintf(c.body, id, "Which else"), kind...).want(t, 409, "id_reused")
			d.answers(ask.Key{Tenant: "acme", Session: "s1", ID: ask.Token(id)}, ask.Answer{QuestionID: "q1", Selected: []string{"o2"}})
			d.do(agent, "POST", c.path, fmt.Sprintf(c.body, id, "Which"), kind...).want(t, 200, `"B"`)
			d.do(agent, "GET", "/v1/asks/s1/"+ask.Token(id)+"?dialect=event-pair", "").want(t, 200, `"question-0":"B"`, `"id":`+strconv.Quote(id))
		}
	}
	d.do(agent, "POST", "/v1/asks?dialect=event-pair&session=s1", fmt.Sprintf(pair, "one", "Which"), "Idempotency-Key", "two").want(t, 400, `"/id"`, "must agree")
	d.do(agent, "POST", "/v1/asks?dialect=typed&session=s1", `{"id":7,"questions":[{"question":"Which?","type":"boolean"}]}`).want(t, 400, `"/id"`, "is a number; give a string")
}

// A refused answer names every wrong value where the sender put it, over HTTP and over a socket.
func TestAWrongForeignAnswerIsNamedWhereItStands(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	pointers := func(r reply) (at []string) {
		var p struct {
			Errors []ask.Fault `json:"errors"`
		}
		if err := json.Unmarshal([]byte(r.body), &p); err != nil {
			t.Fatalf("%v: %s", err, r.body)
		}
		for _, e := range p.Errors {
			at = append(at, e.Pointer)
		}
		slices.Sort(at)
		return at
	}
	form := d.do(agent, "POST", "/v1/asks?dialect=elicitation", `{"message":"m","requestedSchema":{"type":"object","properties":{"e":{"type":"string","format":"email"},"u":{"type":"string","format":"uri"},"d":{"type":"string","format":"date"}},"required":["e"]}}`,
		"Idempotency-Key", "form").want(t, 202).header.Get("Location")
	at, _, _ := strings.Cut(form, "?")
	for body, want := range map[string][]string{
		`{"action":"accept","content":{"e":"notmail"}}`:                     {"/content/e"},
		`{"action":"accept","content":{"e":"notmail","u":"no","d":"soon"}}`: {"/content/d", "/content/e", "/content/u"},
		`{"action":"accept","content":{"u":"https://example.com"}}`:         {"/content/e"},
	} {
		if got := pointers(d.do(screen, "POST", at+"/answer?dialect=elicitation", body).want(t, 400)); !slices.Equal(got, want) {
			t.Errorf("%s: %v", body, got)
		}
	}
	d.do(screen, "POST", at+"/answer?dialect=elicitation", `{"action":"accept","content":{"e":"mei@example.com"}}`).want(t, 200)
	// How it ended counts more than what is wrong with a late answer.
	d.do(screen, "POST", at+"/answer?dialect=elicitation", `{"action":"accept","content":{"e":"notmail"}}`).want(t, 409, "already_resolved")

	d.do(agent, "POST", "/v1/asks?dialect=typed", `{"id":"typed","questions":[{"question":"Name?","type":"text","validation":{"minLength":3}},{"question":"How many?","type":"number","validation":{"min":3}}]}`).want(t, 202)
	if got := pointers(d.do(screen, "POST", "/v1/asks/s1/typed/answer?dialect=typed", `{"answers":{"question-0":"xx","question-1":2}}`).want(t, 400)); !slices.Equal(got, []string{"/answers/question-0", "/answers/question-1"}) {
		t.Errorf("typed: %v", got)
	}
	w := d.dial(screen, "")
	w.next("interaction_request")
	w.next("interaction_request")
	w.send(`{"type":"interaction_response","data":{"id":"typed.2","result":"2"}}`)
	if e := w.next("error"); e.Data.ID != "typed.2" || len(e.Data.Errors) != 1 || e.Data.Errors[0].Pointer != "/result" {
		t.Errorf("interact: %+v", e)
	}
	if f := w.next("interaction_request"); f.Data.ID != "typed.2" {
		t.Errorf("asked again: %+v", f)
	}
}

func TestD4(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("*")
	const body = `{"sessionId":"chat one","question":"Which?","options":[{"label":"A"},{"label":"B"}],"multiselect":true}`
	session := ask.Token("chat one")
	if res := d.do(agent, "POST", "/api/interact/ask", body).want(t, 503, "nobody_there"); res.header.Get("Retry-After") != "" {
		t.Error("clients that keep to Retry-After repeat what does not end by itself")
	}
	d.somebodyIsThere()

	res := d.do(agent, "POST", "/api/interact/ask?wait=1ms", body).want(t, 504, "pending")
	at := res.header.Get("Location")
	first := d.pending(session, "")
	waiting := d.meanwhile("", "POST", "/t/"+agent+"/api/interact/ask", body) // the same again attaches
	d.answers(first.Ask.Key(), ask.Answer{QuestionID: "q1", Selected: []string{"o1"}, Other: "C, too"})
	if got := compact((<-waiting).want(t, 200).body); got != `{"result":["A","C, too"]}` {
		t.Errorf("the result is %s", got)
	}
	d.do(agent, "GET", at, "").want(t, 200, `{"result":["A","C, too"]}`)

	waiting = d.meanwhile(agent, "POST", "/api/interact/ask", body)
	second := d.pending(session, "")
	if second.Ask.ID == first.Ask.ID {
		t.Error("an ask whose outcome was told is answered from the past")
	}
	d.declines(second.Ask.Key(), "no")
	(<-waiting).want(t, 409, "declined: no")

	waiting = d.meanwhile(agent, "POST", "/api/interact/ask", body, "Idempotency-Key", "third")
	d.pending(session, "third")
	d.do(agent, "DELETE", "/v1/asks/"+session+"/third", "").want(t, 200)
	(<-waiting).want(t, 410, "withdrawn")
}

// Every dialect asks, waits and is answered at the same path, and every format of a screen answers.
func TestEveryDialect(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	for name, c := range map[string]struct{ request, reply, want string }{
		"event-pair":  {`{"agentId":"a","questions":[{"question":"Which?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}`, `{"answers":{"question-0":"B"}}`, `"question-0":"B"`},
		"typed":       {`{"agentId":"b","questions":[{"question":"How many?","header":"H","type":"number"}]}`, `{"answers":{"question-0":3}}`, `"question-0":3`},
		"claude-code": {`{"questions":[{"question":"Which one?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}`, `{"answers":{"Which one?":"B"}}`, `"Which one?":"B"`},
		"by-id":       {`{"questions":[{"question_id":"q","question":"Which","options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}]}`, `{"answers":[{"question_id":"q","selected_option_ids":["b"]}]}`, `"selected_option_ids":["b"]`},
		"codex":       {`{"questions":[{"id":"q","header":"H","question":"Which of them?","options":[{"label":"A"},{"label":"B"}]}]}`, `{"answers":{"q":{"answers":["B"]}}}`, `["B"]`},
		"vscode":      {`{"questions":[{"header":"H","question":"Which is it?","options":[{"label":"A"},{"label":"B"}]}]}`, `{"answers":{"H":{"selected":["B"]}}}`, `"selected":["B"]`},
		"opencode":    {`{"questions":[{"header":"H","question":"Which is the one?","options":[{"label":"A"},{"label":"B"}]}]}`, `{"answers":[["B"]]}`, `[["B"]]`},
		"elicitation": {`{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`, `{"action":"accept","content":{"n":4}}`, `"n":4`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := "x-" + name
			pending := d.do(agent, "POST", "/v1/asks?dialect="+name, c.request, "Idempotency-Key", id)
			at := pending.header.Get("Location")
			if pending.status != 202 || pending.header.Get("Askbus-State") != "pending" || !strings.Contains(at, "dialect="+name) {
				t.Fatalf("pending: %d %v %s", pending.status, pending.header, pending.body)
			}
			if shown := d.do(screen, "GET", at, ""); shown.status != 200 || shown.header.Get("Askbus-State") != "" {
				t.Errorf("to a screen: %d %s", shown.status, shown.body)
			}
			waiting := d.meanwhile(agent, "GET", at+"&wait=30s", "")
			d.do(screen, "POST", "/v1/asks/s1/"+id+"/answer?dialect="+name+"&by=Mei", c.reply).want(t, 200, `"status":"answered"`, `"name":"Mei"`)
			(<-waiting).want(t, 200, c.want)
		})
	}
	d.do(agent, "POST", "/v1/asks?dialect=d7", "{}").want(t, 400, "by-id")
	d.do(agent, "POST", "/v1/asks?dialect=D5", `{"questions":[{"question_id":"q","question":"Alias?","options":[{"id":"a","label":"A"}]}]}`).want(t, 202, "pending")
	res := d.do(agent, "POST", "/v1/asks?dialect=event-pair", `{"agentId":"w","questions":[{"question":"选择","header":"这是一个非常非常长的标题文字","options":[{"label":"A"},{"label":"B"}]}]}`).want(t, 202)
	var warnings []dialect.Warning
	if err := json.Unmarshal([]byte(res.header.Get("Askbus-Warnings")), &warnings); err != nil || len(warnings) != 1 {
		t.Errorf("%v: %s", err, res.header.Get("Askbus-Warnings"))
	}
}

// native returns the path of an ask in native JSON.
func native(location string) string {
	path, _, _ := strings.Cut(location, "?")
	return path
}

func TestPermission(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("*")
	const input = `{"questions":[{"question":"Which?","header":"H","options":[{"label":"A"},{"label":"B"}],"multiSelect":false}]}`
	call := `{"tool_name":"AskUserQuestion","session_id":"s1","tool_use_id":"t1","input":` + input + `}`
	waiting := d.meanwhile(agent, "POST", "/v1/permission", call)
	d.answers(d.key("s1", ""), ask.Answer{QuestionID: "q1", Selected: []string{"o2"}})
	(<-waiting).want(t, 200, `"behavior":"allow"`, `"questions":[`, `"answers":{"Which?":"B"}`)

	res := d.do(agent, "POST", "/v1/permission?session=s2&wait=1ms", input).want(t, 504, "pending")
	if !strings.HasPrefix(res.header.Get("Location"), "/v1/asks/s2/") {
		t.Errorf("Location %q", res.header.Get("Location"))
	}
	waiting = d.meanwhile(agent, "POST", "/v1/permission?session=s8", input)
	d.declines(d.key("s8", ""), "no")
	(<-waiting).want(t, 200, `"behavior":"deny"`, "declined: no")

	hook := `{"session_id":"s3","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"t3","tool_input":` + input + `}`
	d.do(agent, "POST", "/v1/permission?wait=1ms", hook).want(t, 204)
	waiting = d.meanwhile(agent, "POST", "/v1/permission", hook)
	d.answers(d.key("s3", ""), ask.Answer{QuestionID: "q1", Selected: []string{"o1"}})
	(<-waiting).want(t, 200, `"permissionDecision":"allow"`, `"Which?":"A"`)
	d.do(agent, "POST", "/v1/permission", `{"session_id":"s3","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t4","tool_input":{}}`).want(t, 204)
	res = d.do(agent, "POST", "/v1/permission", `{"session_id":"s3","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`).want(t, 204)
	if reason := res.header.Get("Askbus-Reason"); !strings.Contains(reason, "/v1/hook") {
		t.Errorf("the reason of a permission is %q", reason)
	}

	t5 := d.do(agent, "POST", "/v1/permission?wait=0", strings.ReplaceAll(hook, "t3", "t5")).want(t, 204).header.Get("Location")
	d.do(agent, "POST", "/v1/permission", strings.Replace(strings.ReplaceAll(hook, "t3", "t5"), `"PreToolUse"`, `"PostToolUse","tool_response":{"answers":{"Which?":"A"}}`, 1)).want(t, 204)
	d.do(agent, "GET", native(t5), "").want(t, 200, `"status":"withdrawn"`, "own dialog")

	// Stop withdraws the hook's asks of the main agent, and nothing else.
	t6 := d.do(agent, "POST", "/v1/permission?wait=0", strings.ReplaceAll(hook, "t3", "t6")).want(t, 204).header.Get("Location")
	t7 := d.do(agent, "POST", "/v1/permission?wait=0", strings.Replace(strings.ReplaceAll(hook, "t3", "t7"), "{", `{"agent_id":"sub-1","agent_type":"explorer",`, 1)).want(t, 204).header.Get("Location")
	d.do(agent, "POST", "/v1/permission", `{"session_id":"s3","hook_event_name":"Stop","stop_hook_active":false}`).want(t, 204)
	d.do(agent, "GET", native(t6), "").want(t, 200, `"status":"withdrawn"`, "has stopped")
	d.do(agent, "GET", native(t7), "").want(t, 200, `"state":"pending"`)
	d.do(agent, "POST", "/v1/permission", `{"session_id":"s3","hook_event_name":"SubagentStop","agent_id":"sub-1"}`).want(t, 204)
	d.do(agent, "GET", native(t7), "").want(t, 200, `"status":"withdrawn"`, "sub-agent")
}

func TestEvents(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("*"), d.responder()
	asked := structured("e1", `"type":"dev.askbus.ask.requested.v1",`, database)

	waiting := d.meanwhile(agent, "POST", "/v1/events?wait=30s", asked, "Content-Type", "application/cloudevents+json")
	d.pending("s1", "deploy-42")
	d.do(screen, "POST", "/v1/events", structured("e2", `"subject":"deploy-42","type":"dev.askbus.answer.given.v1",`, `{"answers":[{"question_id":"db","selected":["pg"]}]}`),
		"Content-Type", "application/cloudevents+json").want(t, 200, "dev.askbus.ask.resolved.v1")
	res := (<-waiting).want(t, 200, `"id":"acme/s1/deploy-42/`, `"type":"dev.askbus.ask.resolved.v1"`, `"selected":["pg"]`)
	if ct := res.header.Get("Content-Type"); ct != "application/cloudevents+json" {
		t.Errorf("Content-Type %s", ct)
	}

	// In binary mode, without an ask id: the event's id is the ask's.
	binary := []string{"ce-specversion", "1.0", "ce-id", "e3", "ce-source", "/x", "ce-type", "dev.askbus.ask.requested.v1", "ce-partitionkey", "acme/s2"}
	const body = `{"questions":[{"text":"Why?"}]}`
	res = d.do(agent, "POST", "/v1/events?wait=0", body, binary...).want(t, 202, `"state":"pending"`)
	if res.header.Get("Ce-Type") != "dev.askbus.ask.status.v1" || res.header.Get("Location") != "/v1/asks/s2/e3" {
		t.Errorf("headers %v", res.header)
	}
	d.do(screen, "POST", "/v1/asks/s2/e3/answer", `{"answers":[{"question_id":"q1","text":"Because"}]}`).want(t, 200)
	res = d.do(agent, "POST", "/v1/events", body, binary...).want(t, 200, "Because")
	if res.header.Get("Ce-Type") != "dev.askbus.ask.resolved.v1" || !strings.HasPrefix(res.header.Get("Ce-Id"), "acme/s2/e3/") || res.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", res.header)
	}

	d.do(agent, "POST", "/v1/events", structured("e3", `"type":"ask:question:request",`, `{"agentId":"b","questions":[{"question":"Which one?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}`), "Content-Type", "application/cloudevents+json").want(t, 202, `"ask:question:pending"`, `"status":"pending"`)
	waiting = d.meanwhile(agent, "POST", "/v1/events?wait=30s", structured("e4", `"type":"ask:question:request",`, `{"agentId":"a","questions":[{"question":"Which?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}`))
	d.answers(d.key("s1", "e4"), ask.Answer{QuestionID: "q1", Selected: []string{"o1"}})
	(<-waiting).want(t, 200, `"type":"ask:question:response"`, `"question-0":"A"`)

	d.do(agent, "POST", "/v1/events?wait=0", structured("e5", `"type":"dev.askbus.ask.requested.v1",`, body)).want(t, 202)
	d.do(agent, "POST", "/v1/events", structured("e6", `"subject":"e5","type":"dev.askbus.ask.withdrawn.v1",`, `{"ask_id":"e5","reason":"done"}`)).want(t, 200, "withdrawn")
	for name, c := range map[string]struct {
		body, contentType string
		status            int
	}{
		"another type":          {structured("e", `"type":"x.y",`, `{}`), "application/cloudevents+json", 400},
		"another tenant":        {strings.Replace(asked, "acme/", "globex/", 1), "application/cloudevents+json", 403},
		"no id":                 {strings.Replace(asked, `"id":"e1"`, `"id":""`, 1), "application/cloudevents+json", 400},
		"a batch in avro":       {"x", "application/cloudevents-batch+avro", 415},
		"nothing":               {"", "application/cloudevents+json", 400},
		"ids that do not agree": {structured("e", `"subject":"other","type":"dev.askbus.ask.requested.v1",`, database), "application/cloudevents+json", 400},
		"no JSON":               {"{", "application/cloudevents+json", 400},
		"no data":               {`{"specversion":"1.0","id":"e","source":"x","type":"dev.askbus.ask.requested.v1"}`, "application/cloudevents+json", 400},
	} {
		if res := d.do(agent, "POST", "/v1/events", c.body, "Content-Type", c.contentType); res.status != c.status {
			t.Errorf("%s: %d %s", name, res.status, res.body)
		}
	}
}

func TestEventsInABatch(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	batch := []string{"Content-Type", "application/cloudevents-batch+json"}
	asks := "[" + strings.Join([]string{
		structured("b1", `"type":"dev.askbus.ask.requested.v1",`, `{"questions":[{"text":"Which?"}]}`),
		structured("b2", `"type":"dev.askbus.ask.requested.v1",`, `{"questions":[]}`),
		structured("b3", `"type":"ask:question:request",`, `{"questions":[{"question":"Which?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}`),
		`{"specversion":"1.0"}`,
	}, ",") + "]"
	res := d.do(agent, "POST", "/v1/events", asks, batch...).want(t, 200)
	var events []struct {
		Type    string         `json:"type"`
		Subject string         `json:"subject"`
		Data    map[string]any `json:"data"`
	}
	if err := json.Unmarshal([]byte(res.body), &events); err != nil || len(events) != 4 || res.header.Get("Content-Type") != batch[1] {
		t.Fatalf("%v: %s", err, res.body)
	}
	for i, want := range []string{"dev.askbus.ask.status.v1 b1", "dev.askbus.problem.v1 b2", "ask:question:pending b3", "dev.askbus.problem.v1 "} {
		if got := events[i].Type + " " + events[i].Subject; got != want {
			t.Errorf("event %d is %s, want %s: %s", i, got, want, res.body)
		}
	}
	if events[2].Data["agentId"] != "s1" {
		t.Errorf("without an agent id: %v", events[2].Data)
	}
	answers := "[" + structured("a1", `"subject":"b1","type":"dev.askbus.answer.given.v1",`, `{"answers":[{"question_id":"q1","text":"Because"}]}`) + "," +
		structured("a2", `"subject":"b9","type":"dev.askbus.answer.given.v1",`, `{"answers":[]}`) + "]"
	d.do(screen, "POST", "/v1/events", answers, batch...).want(t, 200, "Because", `"status":404`)
	d.do(agent, "POST", "/v1/events", answers, batch...).want(t, 200, `"status":403`)
	d.do(agent, "POST", "/v1/events?wait=1s", asks, batch...).want(t, 400, "cannot wait")
	d.do(agent, "POST", "/v1/events", "["+strings.Repeat("{},", 100)+"{}]", batch...).want(t, 413)
}

func structured(id, more, data string) string {
	return `{"specversion":"1.0","id":"` + id + `","source":"/my/agent","partitionkey":"acme/s1",` + more + `"data":` + data + `}`
}
