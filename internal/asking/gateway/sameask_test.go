package gateway_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// pair is two gateways on one bus, whose time the test advances.
type pair struct {
	a, b  *fixture
	agent string
	ahead atomic.Int64
}

func openPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{}
	bus := natstest.Start(t, natstest.Options{NoBroker: true})
	bus.BrokerAhead(func() time.Duration { return time.Duration(p.ahead.Load()) }, broker.Options{})
	p.a, p.b = openOn(t, bus, gateway.Options{}), openOn(t, bus, gateway.Options{})
	p.agent = p.a.agent("*")
	return p
}

// open asks without waiting and returns the ask's path in native JSON.
func (d *fixture) open(t *testing.T, secret, path, body string, headers ...string) string {
	t.Helper()
	res := d.do(secret, "POST", path, body, headers...)
	if at := native(res.header.Get("Location")); at != "" && res.header.Get("Askbus-State") != "resolved" {
		return at
	}
	t.Fatalf("not pending: %d %v %s", res.status, res.header, res.body)
	return ""
}

func keyAt(path string) ask.Key {
	t := strings.Split(path, "/")
	return ask.Key{Tenant: "acme", Session: t[3], ID: t[4]}
}

// Every way of asking over HTTP without an id: path, body.
func unnamed() map[string][2]string {
	return map[string][2]string{
		"native":      {"/v1/asks?session=s1&wait=0", `{"questions":[{"id":"q1","text":"Deploy?","options":[{"id":"o1","label":"Yes"},{"id":"o2","label":"No"}]}]}`},
		"claude-code": {"/v1/asks?dialect=claude-code&session=s2", `{"questions":[{"question":"Deploy?","header":"H","options":[{"label":"Yes"},{"label":"No"}]}]}`},
		"tool use":    {"/v1/asks?dialect=claude-code&session=s3", `{"type":"tool_use","name":"AskUserQuestion","id":"call_0","input":{"questions":[{"question":"Deploy?","header":"H","options":[{"label":"Yes"},{"label":"No"}]}]}}`},
		"permission":  {"/v1/permission?session=s4&wait=1ms", `{"questions":[{"question":"Deploy?","header":"H","options":[{"label":"Yes"},{"label":"No"}]}]}`},
		"acp":         {"/v1/asks?dialect=acp-permission&session=s5", `{"sessionId":"x","toolCall":{"toolCallId":"call_0","title":"Deploy"},"options":[{"optionId":"o1","name":"Yes","kind":"allow_once"},{"optionId":"o2","name":"No","kind":"reject_once"}]}`},
		"ag-ui":       {"/v1/asks?dialect=ag-ui&session=s6", `{"interrupts":[{"id":"int-0","reason":"input_required","message":"Deploy?"}]}`},
		"ai-sdk":      {"/v1/asks?dialect=ai-sdk&session=s7", `{"type":"tool-approval-request","approvalId":"call_0","toolCall":{"toolName":"deploy","input":{"to":"production"}}}`},
	}
}

// An answer that was fetched at one gateway is not the answer of the same question at another.
func TestAnApprovalFromThePastAnswersNothing(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	for name, c := range unnamed() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := p.a.open(t, p.agent, c[0], c[1])
			if at := p.b.open(t, p.agent, c[0], c[1]); at != first {
				t.Errorf("the open ask %s is asked again at the other gateway, as %s", first, at)
			}
			p.ends(t, keyAt(first))
			p.b.do(p.agent, "GET", first, "").want(t, 200, `"resolved"`)
			if at := p.a.open(t, p.agent, c[0], c[1]); at == first {
				t.Error("the old answer is the answer of the new question")
			}
		})
	}
}

// ends answers an ask.
func (p *pair) ends(t *testing.T, k ask.Key) {
	t.Helper()
	rec, err := p.a.people.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	answers := ask.Answer{QuestionID: rec.Ask.Questions[0].ID}
	if q := &rec.Ask.Questions[0]; len(q.Options) > 0 {
		answers.Selected = []string{q.Options[0].ID}
	} else {
		answers.Text = "yes"
	}
	p.a.answers(k, answers)
}

func TestAnOutcomeThatNobodyFetched(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	c := unnamed()["claude-code"]
	first := p.a.open(t, p.agent, c[0], c[1])
	p.ends(t, keyAt(first))
	p.ahead.Add(int64(time.Minute))
	p.b.do(p.agent, "HEAD", first, "").want(t, 200)           // which looks, and has no answer
	p.a.do(p.agent, "POST", c[0], c[1]).want(t, 200, `"Yes"`) // a client that lost its connection
	second := p.a.open(t, p.agent, c[0], c[1])
	p.ends(t, keyAt(second))
	p.ahead.Add(int64(10 * time.Minute))
	if at := p.a.open(t, p.agent, c[0], c[1]); at == second || at == first {
		t.Error("an answer of ten minutes ago is the answer of the new question")
	}

	path, body := strings.Replace(c[0], "s2", "s9", 1), strings.Replace(c[1], "{", `{"timeout":"1m",`, 1)
	expired := p.a.open(t, p.agent, path, body)
	p.ahead.Add(int64(2 * time.Minute))
	if at := p.a.open(t, p.agent, path, body); at == expired {
		t.Error("an ask that nobody answered is not asked again")
	}
}

func TestTheSameAtTwoGatewaysAtOnceIsOneAsk(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	for name, c := range unnamed() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := strings.Replace(c[0], "session=s", "session=r", 1)
			var all sync.WaitGroup
			at := make([]string, 6)
			for i := range at {
				all.Go(func() {
					d := []*fixture{p.a, p.b}[i%2]
					res, err := d.try(p.agent, "POST", path, c[1])
					if at[i] = native(res.header.Get("Location")); err != nil || at[i] == "" {
						t.Errorf("%d %s, %v", res.status, res.body, err)
					}
				})
			}
			all.Wait()
			for _, s := range at {
				if s != at[0] {
					t.Fatalf("asked as %v", at)
				}
			}
		})
	}
}

func TestAGatewayIsRestartedBetween(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	c := unnamed()["claude-code"]
	a := openOn(t, bus, gateway.Options{})
	agent := a.agent("*")
	first := a.open(t, agent, c[0], c[1])
	again := openOn(t, bus, gateway.Options{})
	if at := again.open(t, agent, c[0], c[1]); at != first {
		t.Errorf("open: %s and %s", first, at)
	}
	again.answers(keyAt(first), ask.Answer{QuestionID: "q1", Selected: []string{"o1"}})
	again.do(agent, "GET", first, "").want(t, 200)
	if at := openOn(t, bus, gateway.Options{}).open(t, agent, c[0], c[1]); at == first {
		t.Error("the old answer is the answer of the new question")
	}
}

// A screen that reads the outcome is not the asker.
func TestAnOutcomeForAScreenIsNotDelivered(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	c := unnamed()["claude-code"]
	first := p.a.open(t, p.agent, c[0], c[1])
	p.ends(t, keyAt(first))
	p.a.do(p.a.screen("s2"), "GET", first, "").want(t, 200, `"resolved"`)
	p.b.do(p.agent, "POST", c[0], c[1]).want(t, 200, `"Yes"`)
}

func TestACallThatIsNumberedAnew(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	call := func(run, question string) string {
		return fmt.Sprintf(`{"tool_name":"AskUserQuestion","session_id":%q,"tool_use_id":"call_0","input":{"questions":[{"question":%q,"header":"H","options":[{"label":"Yes"},{"label":"No"}]}]}}`, run, question)
	}
	const path = "/v1/asks?dialect=claude-code"
	first := p.a.open(t, p.agent, path, call("run-1", "Deploy?"))
	p.ends(t, keyAt(first))
	p.b.do(p.agent, "POST", path, call("run-1", "Deploy?")).want(t, 200, `"Yes"`)
	p.a.open(t, p.agent, path, call("run-1", "Delete?"))
	p.a.open(t, p.agent, path, call("run-2", "Deploy?"))
}

// A permission is for one call; the request around it says which.
func TestAPermissionOfAnotherCallIsAskedAnew(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	const path = "/v1/asks?dialect=acp-permission&session=s1"
	request := func(call, dir, agent string) string {
		return fmt.Sprintf(`{"sessionId":"x","_meta":{"cwd":%q,"agent_id":%q},"toolCall":{"toolCallId":%q,"title":"rm -r build"},"options":[{"optionId":"o1","name":"Yes","kind":"allow_once"}]}`, dir, agent, call)
	}
	first := p.a.open(t, p.agent, path, request("c1", "/work", ""))
	if at := p.b.open(t, p.agent, path, request("c1", "/work", "")); at != first {
		t.Error("the same call is asked twice")
	}
	for name, other := range map[string]string{"another call": request("c2", "/work", ""), "another directory": request("c1", "/", ""), "a subagent": request("c1", "/work", "sub")} {
		if p.b.open(t, p.agent, path, other) == first {
			t.Error(name)
		}
	}
	const inbox = `{"action_request":{"action":"deploy","args":{}},"config":{"allow_accept":true,"allow_ignore":true}}`
	if one, two := p.a.open(t, p.agent, "/v1/asks?dialect=langgraph", inbox), p.a.open(t, p.agent, "/v1/asks?dialect=langgraph", inbox); one == two {
		t.Error("two permissions without the id of a call are one")
	}
}

// The same over WebSocket, and the answer goes over the socket.
func TestTheSameOverTwoSockets(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	const request = `{"type":"ask:question:request","data":{"agentId":"builder","questions":[{"question":"Deploy?","options":[{"label":"Yes"},{"label":"No"}]}]}}`
	asks := func(d *fixture) (w *wireClient, id string) {
		w = d.dial(p.agent, "?sessionId=s1&dialect=event-pair")
		w.send(request)
		return w, w.next("ask:question:pending").Data.ID
	}
	one, first := asks(p.a)
	two, second := asks(p.b)
	if first != second {
		t.Errorf("asked as %s and %s", first, second)
	}
	p.ends(t, ask.Key{Tenant: "acme", Session: "s1", ID: first})
	one.next("ask:question:response")
	two.next("ask:question:response")
	if _, third := asks(p.a); third == first {
		t.Error("the old answer is the answer of the new question")
	}
}
