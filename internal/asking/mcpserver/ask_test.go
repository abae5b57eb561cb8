package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// later is a wait longer than any test.
const later = 300

func TestAnAnswerComesBackInWordsAndAsAnObject(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	f.soon()
	sent := f.bus.Requests()
	r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
	if asks, waits := sent(subject.VerbAsk), sent(subject.VerbWait); asks != 1 || waits != 0 {
		t.Errorf("the call sent %d asks and %d waits, want 1 and none", asks, waits)
	}
	if r.isError || !strings.HasPrefix(r.text, "answered by Mei on the web\n") || !strings.Contains(r.text, `"Which database?"="PostgreSQL"`) {
		t.Errorf("the text is %q", r.text)
	}
	answers, ok := r.object["answers"].(map[string]any)
	if !ok || answers["Which database?"] != "PostgreSQL" || r.object["status"] != "answered" || r.object["questions"] == nil {
		t.Errorf("the object is %v", r.object)
	}
}

func TestOneQuestionReturnsAResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	f.soon()
	r := f.must(cs, "AskUserQuestion", map[string]any{
		"question": "Which?", "options": []any{map[string]any{"label": "a"}, map[string]any{"label": "b"}}, "multiselect": true, "wait_seconds": later,
	})
	if got, ok := r.object["result"].([]any); !ok || len(got) != 1 || got[0] != "a" {
		t.Errorf("the object is %v", r.object)
	}
}

func TestACallThatEndsBeforeTheAnswerSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{Link: func(k ask.Key) string { return "http://inbox/ask/" + k.String() }})
	cs := f.connect(nil)
	first := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0}))
	id, _ := first.object["ask_id"].(string)
	if first.isError || first.object["status"] != "pending" || id == "" || !strings.Contains(first.text, "AwaitAnswer") || !strings.Contains(first.text, "http://inbox/ask/acme/s1/"+id) {
		t.Fatalf("the result is %+v", first)
	}
	if again := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0})); again.object["ask_id"] != id {
		t.Errorf("asked again it is %v, not %s", again.object["ask_id"], id)
	}
	list := f.must(cs, "ListPendingQuestions", nil)
	if items, ok := list.object["questions"].([]any); !ok || len(items) != 1 || !strings.Contains(list.text, id) {
		t.Errorf("the list is %+v", list)
	}
	if r := f.must(cs, "AwaitAnswer", map[string]any{"ask_id": id, "wait_seconds": 0}); r.object["status"] != "pending" {
		t.Errorf("waiting on says %+v", r)
	}
	f.soon()
	if r := f.must(cs, "AwaitAnswer", map[string]any{"ask_id": id, "wait_seconds": later}); r.object["status"] != "answered" || !strings.Contains(r.text, "PostgreSQL") {
		t.Errorf("the answer is %+v", r)
	}
	if list := f.must(cs, "ListPendingQuestions", map[string]any{}); !strings.HasPrefix(list.text, "No question") {
		t.Errorf("the list is %+v", list)
	}
}

func TestADroppedCallWithdrawsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	ctx, drop := context.WithCancel(t.Context())
	dropped := make(chan error, 1)
	go func() {
		_, err := f.call(ctx, cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
		dropped <- err
	}()
	rec := f.screen.Next(board.Pending)
	drop()
	if err := <-dropped; err == nil {
		t.Error("the call was not dropped")
	}
	if r := f.must(cs, "AwaitAnswer", map[string]any{"ask_id": rec.Ask.ID, "wait_seconds": 0}); r.object["status"] != "pending" {
		t.Errorf("after the drop: %+v", r)
	}
	f.screen.Choose(rec, "o2")
	r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
	if !strings.Contains(r.text, "SQLite") || !strings.Contains(r.text, "when the same was asked before") {
		t.Errorf("asked again: %q", r.text)
	}
}

func TestTheSameIsAskedAnewOnceItsAnswerIsDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	var ids []any
	for range 3 {
		f.soon()
		r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
		if r.object["status"] != "answered" || strings.Contains(r.text, "asked before") {
			t.Fatalf("the answer is %+v", r)
		}
		ids = append(ids, r.object["ask_id"])
	}
	if ids[0] == ids[1] || ids[1] == ids[2] {
		t.Errorf("the ids are %v", ids)
	}
}

func TestAWithdrawnQuestionCanBeAskedAtOnceAndAGivenIDStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	first := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0}))
	id := first.object["ask_id"]
	if r := f.must(cs, "WithdrawQuestion", map[string]any{"ask_id": id, "reason": "found it out"}); r.isError || r.object["status"] != "withdrawn" {
		t.Errorf("withdrawn: %+v", r)
	}
	if r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0})); r.object["ask_id"] == id || r.object["status"] != "pending" {
		t.Errorf("asked again: %+v", r)
	}
	f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0, "ask_id": "mine"}))
	f.must(cs, "WithdrawQuestion", map[string]any{"ask_id": "mine"})
	r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0, "ask_id": "mine"}))
	if !r.isError || r.object["status"] != "withdrawn" {
		t.Errorf("a given id: %+v", r)
	}
	r = f.must(cs, "AskUserQuestion", map[string]any{"question": "Something else?", "ask_id": "mine"})
	if !r.isError || r.object["code"] != ask.CodeIDReused {
		t.Errorf("a given id for something else: %+v", r)
	}
}

func TestAWithdrawalThatComesTooLateSaysTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0}))
	f.answer()
	r = f.must(cs, "WithdrawQuestion", map[string]any{"ask_id": r.object["ask_id"]})
	if r.isError || r.object["status"] != "answered" || !strings.Contains(r.text, "too late") || !strings.Contains(r.text, "PostgreSQL") {
		t.Errorf("the result is %+v", r)
	}
}

func TestTwoClientsThatAskTheSameGetTheSameAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	answers, sent := make(chan reply, 2), f.bus.Requests()
	for range 2 {
		cs := f.connect(nil)
		go func() {
			r, err := f.call(context.WithoutCancel(t.Context()), cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
	}
	// Who asks after the answer was delivered asks anew.
	natstest.Eventually(t, "both have asked", func() bool { return sent(subject.VerbAsk) == 2 })
	f.answer()
	one, two := <-answers, <-answers
	if one.object["ask_id"] != two.object["ask_id"] || !strings.Contains(one.text, "PostgreSQL") || !strings.Contains(two.text, "PostgreSQL") {
		t.Errorf("the answers are %q and %q", one.text, two.text)
	}
}

func TestNobodyAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	r := f.must(cs, "AskUserQuestion", database(map[string]any{"timeout": "1s", "wait_seconds": later}))
	if r.isError || r.object["status"] != "expired" || !strings.Contains(r.text, "nobody answered by") || !strings.Contains(r.text, "no decision was made") {
		t.Errorf("the result is %+v", r)
	}
	if r.object["answers"] != nil && len(r.object["answers"].(map[string]any)) > 0 {
		t.Errorf("there are answers: %v", r.object)
	}
}

func TestWhatIsWrongWithAQuestionIsSaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	args := database(map[string]any{"wait_seconds": 0})
	args["questions"].([]any)[0].(map[string]any)["header"] = "A header that is too long"
	r := f.must(cs, "AskUserQuestion", args)
	if warnings, ok := r.object["warnings"].([]any); !ok || len(warnings) != 1 || !strings.Contains(r.text, "/questions/0/header") {
		t.Errorf("the result is %+v", r)
	}
	r = f.must(cs, "AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": 7}}})
	if !r.isError || !strings.Contains(r.text, "/questions/0/question: is a number") {
		t.Errorf("the result is %+v", r)
	}
	for _, args := range []any{nil, map[string]any{"ask_id": "a b"}, map[string]any{"ask_id": "x", "wait_seconds": -1}, map[string]any{"ask_id": 7}} {
		if r := f.must(cs, "AwaitAnswer", args); !r.isError || r.text == "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "unknown"}); !r.isError || r.object["code"] != ask.CodeNotFound {
		t.Errorf("the result is %+v", r)
	}
}

func TestABusThatIsAwayIsAnErrorInWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	f.server = mcpserver.New(natstest.Opener{Err: fmt.Errorf("nothing answers: %w", ask.ErrUnavailable)}, mcpserver.Options{Logger: natstest.Logger()})
	cs := f.connect(nil)
	for _, tool := range []string{"AskUserQuestion", "AwaitAnswer", "WithdrawQuestion", "ListPendingQuestions"} {
		args := database(map[string]any{"ask_id": "x"})
		if r := f.must(cs, tool, args); !r.isError || !strings.Contains(r.text, "askbus cannot be reached: nothing answers") || r.object["code"] != ask.CodeUnavailable {
			t.Errorf("%s: %+v", tool, r)
		}
	}
}

func TestProgressIsToldToClientsThatWantIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{Progress: time.Millisecond})
	told := make(chan float64, 10_000)
	cs := f.connect(&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		select {
		case told <- req.Params.Progress:
		default:
		}
	}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		params := &mcp.CallToolParams{Name: "AskUserQuestion", Arguments: database(map[string]any{"wait_seconds": later})}
		params.SetProgressToken("p")
		if res, err := cs.CallTool(context.WithoutCancel(t.Context()), params); err != nil || res.IsError {
			t.Errorf("%v %v", res, err)
		}
	}()
	last := 0.0
	for range 5 {
		if p := <-told; p <= last {
			t.Errorf("progress went from %v to %v", last, p)
		} else {
			last = p
		}
	}
	f.answer()
	<-done
}

func TestWhoAsksIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0}))
	if a := f.screen.Next(board.Pending).Ask; a.Agent.Name != "test-client" {
		t.Errorf("the agent is %+v", a.Agent)
	}
	f.who.Agent = mcpserver.AgentPath("planner/a-1/builder")
	cs = f.connect(nil)
	f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0, "ask_id": "b"}))
	if a := f.screen.Next(board.Pending).Ask; a.Agent.Name != "builder" || a.Agent.Parent != "planner/a-1" {
		t.Errorf("the agent is %+v", a.Agent)
	}
	if _, err := client.New(nil, client.Options{}); err == nil {
		t.Error("a client without a connection")
	}
}

// A client that writes a few lines and closes its input still gets the answers.
func TestTheEndOfTheInputWaitsForRunningCalls(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	f.soon()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":{"question":"Which?","options":[{"label":"a"},{"label":"b"}],"wait_seconds":300}}}`)
	var out bytes.Buffer
	if err := f.server.Run(t.Context(), f.who, in, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "answered by Mei on the web") {
		t.Errorf("it wrote %s", out.String())
	}
}

func TestTheModelExcludesThePersonItWorksFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	f.who.Human = ask.By{Principal: "os:mei", Proof: ask.ProofHostDialog}
	cs := f.connect(nil)
	if r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0, "exclude_asker": true})); r.object["status"] != "pending" {
		t.Fatalf("%+v", r)
	}
	if rec := f.screen.Next(board.Pending); !rec.Ask.ExcludeAsker || len(rec.Ask.Asker) != 1 || rec.Ask.Asker[0] != "os:mei" {
		t.Errorf("asked %+v", rec.Ask)
	}
}

// A question whose answer reached the agent is asked anew, by any server; so is one that nobody
// answered. An answer that has not reached it is returned for two minutes.
func TestTheSameAtTwoServers(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	bus := natstest.Start(t, natstest.Options{NoBroker: true})
	bus.BrokerAhead(func() time.Duration { return time.Duration(ahead.Load()) }, broker.Options{})
	f, g := newFixtureOn(t, bus, mcpserver.Options{}), newFixtureOn(t, bus, mcpserver.Options{})
	one, two := f.connect(nil), g.connect(nil)
	open := func(f *fixture, cs *mcp.ClientSession) any {
		t.Helper()
		r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0}))
		if r.object["status"] != "pending" {
			t.Fatalf("not pending: %+v", r)
		}
		return r.object["ask_id"]
	}
	first := open(f, one)
	if again := open(g, two); again != first {
		t.Errorf("asked as %v and %v", first, again)
	}
	f.answer()
	g.must(two, "AwaitAnswer", map[string]any{"ask_id": first})
	second := open(f, one)
	if second == first {
		t.Fatal("the old answer is the answer of the new question")
	}
	f.answer()
	ahead.Add(int64(time.Minute))
	if r := g.must(two, "AskUserQuestion", database(nil)); r.object["ask_id"] != second || r.object["status"] != "answered" {
		t.Errorf("not delivered: %+v", r)
	}
	third := open(g, two)
	f.answer()
	ahead.Add(int64(10 * time.Minute))
	if fourth := open(f, one); fourth == third {
		t.Error("an answer of ten minutes ago is the answer of the new question")
	}
}

// A call in ids gets ids back, also when another call picks the answer up.
func TestACallInIDsGetsIDsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	asked := map[string]any{"questions": []any{
		map[string]any{"question_id": "pick one", "question": "Which?", "options": []any{
			map[string]any{"id": "cand 1", "label": "A, B"}, map[string]any{"id": "cand 2", "label": "C"}, map[string]any{"id": "cancel", "label": "None"},
		}},
	}, "ask_id": "ids-1", "wait_seconds": 0}
	r := f.must(cs, "AskUserQuestion", asked)
	if r.isError || r.object["status"] != "pending" || r.object["ask_id"] != "ids-1" || strings.Contains(r.text, "Warnings") {
		t.Fatalf("%+v", r)
	}
	rec := f.screen.Next(board.Pending)
	if q := rec.Ask.Questions[0]; q.Other() || q.Multiple || !q.Options[2].Cancels {
		t.Errorf("it is asked as %+v", q)
	}
	f.screen.Choose(rec, rec.Ask.Questions[0].Options[0].ID)
	r = f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "ids-1", "wait_seconds": later})
	if !strings.HasPrefix(r.text, `{"status":"answered","answers":[{"question_id":"pick one","selected_option_ids":["cand 1"]}]}`) || r.object["status"] != "answered" || r.object["questions"] != nil {
		t.Errorf("answered: %+v", r)
	}

	asked["ask_id"] = "ids-2"
	f.must(cs, "AskUserQuestion", asked)
	rec = f.screen.Next(board.Pending)
	f.screen.Choose(rec, rec.Ask.Questions[0].Options[2].ID)
	r = f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "ids-2", "wait_seconds": later})
	if !strings.HasPrefix(r.text, `{"status":"cancelled","answers":[],"cancelled_by":{"question_id":"pick one","option_id":"cancel"}}`) || r.object["status"] != "cancelled" {
		t.Errorf("cancelled: %+v", r)
	}

	asked["ask_id"] = "ids-3"
	f.must(cs, "AskUserQuestion", asked)
	r = f.must(cs, "WithdrawQuestion", map[string]any{"ask_id": "ids-3"})
	if r.isError {
		t.Fatalf("%+v", r)
	}
	if r = f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "ids-3"}); r.object["status"] != "aborted" || !r.isError {
		t.Errorf("withdrawn: %+v", r)
	}
}

// A Chinese question in ids is refused in Chinese.
func TestAChineseCallInIDsIsRefusedInChinese(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	r := f.must(f.connect(nil), "AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question_id": "a", "question": "要哪些部分？", "options": []any{map[string]any{"id": "x", "label": 7}},
	}}})
	if !r.isError || strings.Contains(r.text, "must be") || !strings.Contains(r.text, "/questions/0/options/0/label") {
		t.Errorf("%+v", r)
	}
}

// Typed questions get typed answers.
func TestATypedQuestionGetsATypedAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	r := f.must(cs, "AskUserQuestion", map[string]any{"ask_id": "typed", "wait_seconds": 0, "questions": []any{
		map[string]any{"question": "How many?", "header": "N", "type": "integer"},
		map[string]any{"question": "Public?", "header": "P", "type": "boolean"},
		map[string]any{"question": "When?", "header": "D", "type": "date"},
	}})
	if r.isError {
		t.Fatal(r.text)
	}
	rec := f.screen.Next(board.Pending)
	n, yes := 5.0, true
	qs := rec.Ask.Questions
	_, err := f.bus.Dialog("web").Answer(t.Context(), rec.Ask.Key(), ask.Reply{AnswerID: "a", By: ask.By{Principal: "os:mei"}, Answers: []ask.Answer{
		{QuestionID: qs[0].ID, Number: &n}, {QuestionID: qs[1].ID, Boolean: &yes}, {QuestionID: qs[2].ID, Date: "2026-11-20"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r = f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "typed", "wait_seconds": later})
	answers, _ := r.object["answers"].(map[string]any)
	echo, _ := r.object["questions"].([]any)
	if answers["How many?"] != 5.0 || answers["Public?"] != true || answers["When?"] != "2026-11-20" || len(echo) != 3 || echo[0].(map[string]any)["type"] != "integer" || echo[1].(map[string]any)["type"] != "boolean" {
		t.Errorf("%+v", r.object)
	}
	f.must(cs, "AskUserQuestion", map[string]any{"ask_id": "one", "wait_seconds": 0, "question": "How many?", "type": "number"})
	rec = f.screen.Next(board.Pending)
	if _, err := f.bus.Dialog("web").Answer(t.Context(), rec.Ask.Key(), ask.Reply{AnswerID: "b", By: ask.By{Principal: "os:mei"}, Answers: []ask.Answer{{QuestionID: rec.Ask.Questions[0].ID, Number: &n}}}); err != nil {
		t.Fatal(err)
	}
	if r = f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "one", "wait_seconds": later}); r.object["result"] != 5.0 {
		t.Errorf("%+v", r.object)
	}
}

func TestAnAgentIsToldHowFarTheVotesAre(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	c, err := client.New(f.bus.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session := c.Session("acme", "s1")
	deploy := ask.Ask{ID: "d1", Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"}}, Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"os:mei", "os:jo"}}}}}
	if _, err := session.Ask(t.Context(), deploy); err != nil {
		t.Fatal(err)
	}
	vote := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "go", Boolean: new(true)}}}
	if _, err := f.screen.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}, vote); !errors.Is(err, ask.ErrVoted) {
		t.Fatal(err)
	}
	const progress = "1 of 2 approvals: Mei; 1 more needed from os:jo"
	cs := f.connect(nil)
	r := f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "d1", "wait_seconds": 0})
	if r.object["status"] != "pending" || r.object["progress"] != progress || !strings.Contains(r.text, "the votes have not decided yet: "+progress) || strings.Contains(r.text, "nobody has answered") {
		t.Errorf("pending: %+v", r)
	}
	if r := f.must(cs, "ListPendingQuestions", map[string]any{}); !strings.Contains(r.text, progress) {
		t.Errorf("listed: %+v", r)
	}
}

// TestProgressTellsVotesOfAPolicy: the ask says nothing of votes, and the progress
// notifications of the call that waits have each of them.
func TestProgressTellsVotesOfAPolicy(t *testing.T) {
	t.Parallel()
	file, err := approvals.Parse([]byte(`policies: [ { name: two, otherwise: { approval: { any_of: [ { need: 2, from: ["os:mei", "os:jo"] } ] } } } ]`))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, natstest.Start(t, natstest.Options{Broker: broker.Options{Approvals: func() *approvals.File { return file }}}), mcpserver.Options{Progress: 10 * time.Millisecond})
	told := make(chan string, 10_000)
	cs := f.connect(&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		select {
		case told <- req.Params.Message:
		default:
		}
	}})
	until := func(text string) {
		t.Helper()
		for message := range told {
			if strings.Contains(message, text) {
				return
			}
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		params := &mcp.CallToolParams{Name: "AskUserQuestion", Arguments: map[string]any{"ask_id": "d1", "wait_seconds": later, "question": "Deploy?", "type": "boolean"}}
		params.SetProgressToken("p")
		if res, err := cs.CallTool(context.WithoutCancel(t.Context()), params); err != nil || res.IsError {
			t.Errorf("%v %v", res, err)
		}
	}()
	rec := f.screen.Next(board.Pending)
	vote := func(name string) error {
		by := ask.By{Principal: "os:" + strings.ToLower(name), Name: name, Proof: ask.ProofOS}
		_, err := f.screen.Answer(t.Context(), rec.Ask.Key(), ask.Reply{By: by, Answers: []ask.Answer{{QuestionID: rec.Ask.Questions[0].ID, Boolean: new(true)}}})
		return err
	}
	until(": 0 of 2 approvals; 2 more needed from os:mei or os:jo")
	if err := vote("Mei"); !errors.Is(err, ask.ErrVoted) {
		t.Fatal(err)
	}
	until(": 1 of 2 approvals: Mei; 1 more needed from os:jo")
	if err := vote("Jo"); err != nil {
		t.Fatal(err)
	}
	<-done
}

// TestAnAgentIsToldWhatAPolicyDemands: the ask says nothing of votes. The pending result
// has how far they are, and the result that one person decided alone.
func TestAnAgentIsToldWhatAPolicyDemands(t *testing.T) {
	t.Parallel()
	file, err := approvals.Parse([]byte(`
policies: [ { name: two, otherwise: { approval: { any_of: [ { need: 2, from: ["os:mei", "os:jo"] } ] } } } ]
break_glass: [ { name: commanders, from: ["os:ic"], min_proof: os } ]
`))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, natstest.Start(t, natstest.Options{Broker: broker.Options{Approvals: func() *approvals.File { return file }}}), mcpserver.Options{})
	cs := f.connect(nil)
	const none = "0 of 2 approvals; 2 more needed from os:mei or os:jo"
	r := f.must(cs, "AskUserQuestion", map[string]any{"ask_id": "d1", "wait_seconds": 0, "question": "Deploy?", "type": "boolean"})
	if r.object["progress"] != none || !strings.Contains(r.text, none) {
		t.Errorf("pending: %+v", r)
	}
	rec := f.screen.Next(board.Pending)
	alone := ask.Reply{By: ask.By{Principal: "os:ic", Name: "IC", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: rec.Ask.Questions[0].ID, Boolean: new(true)}}, BreakGlass: &ask.BreakGlass{Reason: "INC-7"}}
	if _, err := f.screen.Answer(t.Context(), rec.Ask.Key(), alone); err != nil {
		t.Fatal(err)
	}
	if r := f.must(cs, "AwaitAnswer", map[string]any{"ask_id": "d1", "wait_seconds": 5}); !strings.Contains(r.text, "approved by IC on the web alone (break-glass): INC-7") {
		t.Errorf("decided: %+v", r)
	}
}
