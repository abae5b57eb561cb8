package gateway_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// TestAnAgentSeesWhatAPolicyDemands: an ask says nothing of votes, and a policy demands
// them. Its agent is told how far they are in each reply and on its stream, and then
// that one person decided alone.
func TestAnAgentSeesWhatAPolicyDemands(t *testing.T) {
	t.Parallel()
	file, err := approvals.Parse([]byte(`
policies: [ { name: two, otherwise: { approval: { any_of: [ { need: 2, from: ["os:mei", "os:jo"] } ] } } } ]
break_glass: [ { name: commanders, from: ["os:ic"], min_proof: os } ]
`))
	if err != nil {
		t.Fatal(err)
	}
	d := openOn(t, natstest.Start(t, natstest.Options{Broker: broker.Options{Approvals: func() *approvals.File { return file }}}), gateway.Options{})
	agent := d.agent("s1")
	const deploy, none = `{"id":"d1","questions":[{"id":"go","kind":"boolean","text":"Deploy?"}]}`, "0 of 2 approvals; 2 more needed from os:mei or os:jo"
	for _, path := range []string{"/v1/asks", "/v1/asks?wait=1ms"} {
		if got := d.do(agent, "POST", path, deploy).as(t); got["progress"] != none {
			t.Errorf("%s: %v", path, got)
		}
	}
	s := d.events(agent, "", "")
	if all := s.until("synced"); !strings.Contains(all[1].data, none) {
		t.Errorf("at first %v", all)
	}
	reply := func(who string) ask.Reply {
		return ask.Reply{AnswerID: who, By: ask.By{Principal: "os:" + who, Name: who, Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "go", Boolean: new(true)}}}
	}
	k := d.key("s1", "d1")
	if _, err := d.people.Answer(t.Context(), k, reply("mei")); !errors.Is(err, ask.ErrVoted) {
		t.Fatal(err)
	}
	const one = "1 of 2 approvals: mei; 1 more needed from os:jo"
	if all := s.until("synced"); len(of(all, "ask")) != 1 || !strings.Contains(all[0].data, one) {
		t.Errorf("after a vote %v", all)
	}
	d.do(agent, "POST", "/a2a?wait=0", `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"s1/d1"}}`).want(t, 200, "TASK_STATE_INPUT_REQUIRED", one)
	alone := reply("ic")
	alone.BreakGlass = &ask.BreakGlass{Reason: "INC-7"}
	if _, err := d.people.Answer(t.Context(), k, alone); err != nil {
		t.Fatal(err)
	}
	if all := s.until("synced"); len(of(all, "outcome")) != 1 || !strings.Contains(all[0].data, `"break_glass":{"reason":"INC-7","role":"commanders"`) {
		t.Errorf("after break-glass %v", all)
	}
	d.do(agent, "GET", "/v1/asks/s1/d1?wait=1s", "").want(t, 200, `"break_glass":{"reason":"INC-7"`)
	d.do(agent, "POST", "/a2a?wait=0", `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"s1/d1"}}`).want(t, 200, "approved by ic on the web alone (break-glass): INC-7")
}

// TestNobodyDecidesAloneOverHTTP: a token proves too little, whoever it is for.
func TestNobodyDecidesAloneOverHTTP(t *testing.T) {
	t.Parallel()
	file, err := approvals.Parse([]byte(`break_glass: [ { name: commanders, from: ["os:ic"], min_proof: os } ]`))
	if err != nil {
		t.Fatal(err)
	}
	d := openOn(t, natstest.Start(t, natstest.Options{Broker: broker.Options{Approvals: func() *approvals.File { return file }}}), gateway.Options{})
	d.do(d.agent("s1"), "POST", "/v1/asks", `{"id":"d1","questions":[{"id":"go","kind":"boolean","text":"Deploy?"}],"approval":{"any_of":[{"need":2,"from":["group:sre"]}]}}`).want(t, 201)
	secret := d.token(token.Token{Role: token.Responder, Principal: "os:ic", Name: "IC"})
	for _, body := range []string{`{"answers":[{"question_id":"go","boolean":true}],"break_glass":{"reason":"INC-7"}}`, `{"answers":[{"question_id":"go","boolean":true}],"by":{"principal":"os:ic","proof":"os"},"break_glass":{"reason":"INC-7"}}`} {
		if got := d.do(secret, "POST", "/v1/asks/s1/d1/answer", body); got.status != 403 && got.status != 400 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if got := d.do(d.agent("s1"), "POST", "/v1/asks/s1/d1/answer", `{"answers":[{"question_id":"go","boolean":true}],"break_glass":{"reason":"INC-7"}}`); got.status != 403 {
		t.Errorf("an agent: %d %s", got.status, got.body)
	}
}
