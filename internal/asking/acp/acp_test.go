package acp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

func TestEverythingElsePassesByteForByte(t *testing.T) {
	t.Parallel()
	f := away(t)
	long := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 17<<20) + `"}` + "\n"
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":3,"method":"_vendor/unknown","params":{"b":1,"a":1e400,"b":"<&>"}}` + "\n",
		"  {\"method\" : \"session/update\",\"params\":null}  \r\n", "\n", "no JSON at all\n", "[1,2]\n", `[{"id":1,"method":"initialize"}]` + "\n",
		`{"jsonrpc":"2.0","id":null,"method":"session/request_permission","params":{}}` + "\n",
		`{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"mode":"url","url":"https://x.example","elicitationId":"1"}}` + "\n",
		`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"1"}}` + "\n",
		`{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"x"}}}` + "\n", cancelSeven,
		`{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x"}}` + "\n", long,
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.editor.say(line)
			f.agent.say(line)
		}()
		for _, side := range []end{f.agent, f.editor} {
			if got := side.hears(); got != line {
				t.Errorf("%.200q became %.200q", line, got)
			}
		}
		<-done
	}
	f.agent.say("the last line has no end")
	go f.agent.says.Close()
	f.editor.wants("the last line has no end")
	f.ended()
}

func TestFormsAreDeclaredToTheAgent(t *testing.T) {
	t.Parallel()
	f := away(t)
	for _, c := range [][2]string{
		{`{"protocolVersion":1}`, `{"clientCapabilities":{"elicitation":{"form":{}}},"protocolVersion":1}`},
		{`{"protocolVersion":1,"clientCapabilities":{"_meta":{"n":12345678901234567890},"elicitation":{"url":{}}}}`, `{"clientCapabilities":{"_meta":{"n":12345678901234567890},"elicitation":{"form":{},"url":{}}},"protocolVersion":1}`},
		{`{"protocolVersion":2,"info":{"name":"x"},"capabilities":{"elicitation":{}}}`, `{"capabilities":{"elicitation":{"form":{}}},"info":{"name":"x"},"protocolVersion":2}`},
		{`{"protocolVersion":2,"capabilities":null,"clientCapabilities":{"elicitation":null}}`, `{"capabilities":{"elicitation":{"form":{}}},"clientCapabilities":{"elicitation":{"form":{}}},"protocolVersion":2}`},
	} {
		f.editor.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":` + c[0] + "}\n")
		var m map[string]json.RawMessage
		if line := f.agent.hears(); json.Unmarshal([]byte(line), &m) != nil || string(m["params"]) != c[1] || string(m["id"]) != `"i"` {
			t.Errorf("%s became %s", c[0], line)
		}
	}
}

func TestAPermissionIsAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.introduce(initPlain)
	f.agent.say(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"coder","version":"1"}}}` + "\n")
	f.editor.hears()
	sent := f.bus.Requests()
	f.agent.say(permission)
	f.editor.wants(permission)
	rec := f.screen.Next(board.Pending)
	q := rec.Ask.Questions[0]
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, o.Label)
	}
	if want := []string{"Allow", "Always allow make", "Always allow", "Reject"}; !reflect.DeepEqual(labels, want) || q.Text != "Run make" || q.Other() || rec.Ask.Agent.Name != "coder" {
		t.Errorf("the ask is %+v", rec.Ask)
	}
	f.choose(rec, "all")
	f.agent.wants(`{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"all"}}}` + "\n")
	f.editor.wants(cancelSeven)
	if asks, waits := sent(subject.VerbAsk), sent(subject.VerbWait); asks != 1 || waits != 0 {
		t.Errorf("%d asks and %d waits were sent, want 1 and none", asks, waits)
	}
	f.editor.say(chose, `{"jsonrpc":"2.0","method":"after"}`+"\n")
	f.agent.wants(`{"jsonrpc":"2.0","method":"after"}` + "\n") // the late answer is dropped
}

// A permission that is too long for an ask has all of it in a file, and grants nothing but what a person chose.
func TestALongPermissionIsShownWhole(t *testing.T) {
	t.Parallel()
	f := start(t)
	command := strings.Repeat("x", 100_000) + "END" + strings.Repeat("y", 100_000)
	f.agent.say(strings.Replace(permission, `"title":"Run make"`, `"title":"Run make","rawInput":{"command":"`+command+`"}`, 1))
	f.editor.hears()
	rec := f.screen.Next(board.Pending)
	if whole := f.screen.Whole(&rec.Ask); !strings.Contains(whole, command) || !strings.Contains(rec.Ask.Context, "All of it is in the file `call.txt`") {
		t.Errorf("the file has %d bytes, the card %.200s", len(whole), rec.Ask.Context)
	}
	f.choose(rec, "once")
	f.agent.wants(`{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}` + "\n")
	f.editor.wants(cancelSeven)
}

// A permission counts for its request only, even if the agent numbers the next one and its call alike.
func TestAPermissionOfBeforePermitsNothing(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.agent.say(permission)
	f.editor.wants(permission)
	first := f.screen.Next(board.Pending)
	f.choose(first, "all")
	f.agent.hears()
	f.editor.wants(cancelSeven)
	f.agent.say(permission)
	f.editor.wants(permission)
	if second := f.screen.Next(board.Pending); second.Ask.ID == first.Ask.ID {
		t.Error("the old permission counts")
	}
}

func TestAPermissionIsAnsweredInTheEditor(t *testing.T) {
	t.Parallel()
	f := permitting(t)
	f.editor.say(chose)
	f.agent.wants(chose)
	o := f.screen.Next(board.Resolved).Outcome
	if o.Status != ask.StatusAnswered || o.By == nil || o.By.Responder != ask.ResponderNative || o.By.Proof != ask.ProofHostDialog || o.By.Principal != "os:ben" || o.Answers[0].Selected[0] != "always" {
		t.Errorf("the outcome is %+v", o)
	}
	f.editor.say(chose) // a second answer is not ours
	f.agent.wants(chose)
}

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestAToolCallSaysWhatItsPermissionDoesNot(t *testing.T) {
	t.Parallel()
	f := start(t)
	update := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"sess","update":{"sessionUpdate":"tool_call","toolCallId":"c9","title":"Remove the build","kind":"execute","rawInput":{"command":"rm -rf build"},"content":[{"type":"content","content":{"type":"image","mimeType":"image/png","uri":"file:///tmp/build.png","data":"` + pixel + `"}}]}}}` + "\n"
	f.agent.say(update)
	f.editor.wants(update)
	request := `{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"sess","toolCall":{"toolCallId":"c9","title":null},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}` + "\n"
	f.agent.say(request)
	f.editor.wants(request)
	a := f.screen.Next(board.Pending).Ask
	if a.Questions[0].Text != "Remove the build" || !strings.Contains(a.Context, "rm -rf build") || len(a.Files) != 1 || a.Files[0].Name != "build.png" {
		t.Fatalf("the ask is %+v", a)
	}
	if _, data, err := f.screen.File(t.Context(), a.Key().InSession(), a.Files[0].ID); err != nil || base64.StdEncoding.EncodeToString(data) != pixel {
		t.Errorf("its image: %v", err)
	}
}

func TestFormsForAnEditorWithoutThem(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.introduce(initPlain)
	f.agent.say(elicit)
	f.choose(f.screen.Next(board.Pending), "lite")
	f.agent.wants(`{"jsonrpc":"2.0","id":"e-1","result":{"action":"accept","content":{"db":"lite"}}}` + "\n")
	f.agent.say(`{"jsonrpc":"2.0","method":"after"}` + "\n")
	f.editor.wants(`{"jsonrpc":"2.0","method":"after"}` + "\n") // it got nothing about the form
	f.agent.say(elicit)
	rec := f.screen.Next(board.Pending)
	if _, err := f.screen.Cancel(t.Context(), rec.Ask.Key(), responder.Decline{Reason: "not mine", By: ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"}}); err != nil {
		t.Fatal(err)
	}
	if line := f.agent.hears(); !strings.Contains(line, `"action":"decline"`) || !strings.Contains(line, "not mine") {
		t.Errorf("the agent got %s", line)
	}
}

func TestFormsInTheEditorToo(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.introduce(initForms)
	for _, c := range []struct {
		reply  string
		status ask.Status
	}{
		{`{"jsonrpc":"2.0","id":"e-1","result":{"action":"accept","content":{"db":"pg"},"_x":1}}`, ask.StatusAnswered},
		{`{"jsonrpc":"2.0","id":"e-1","result":{"action":"decline"}}`, ask.StatusCancelled},
		{`{"jsonrpc":"2.0","id":"e-1","result":{"action":"cancel"}}`, ask.StatusWithdrawn},
		{`{"jsonrpc":"2.0","id":"e-1","result":{"action":"accept","content":{"db":"mysql"}}}`, ask.StatusWithdrawn},
		{`{"jsonrpc":"2.0","id":"e-1","error":{"code":-32800,"message":"Request cancelled"}}`, ask.StatusWithdrawn},
	} {
		f.agent.say(elicit)
		f.editor.wants(elicit)
		f.screen.Next(board.Pending)
		f.editor.say(c.reply + "\n")
		f.agent.wants(c.reply + "\n")
		if o := f.screen.Next(board.Resolved).Outcome; o.Status != c.status {
			t.Errorf("%s: the outcome is %+v", c.reply, o)
		}
	}
	f.agent.say(elicit)
	f.editor.wants(elicit)
	rec := f.screen.Next(board.Pending)
	f.editor.say(`{"jsonrpc":"2.0","id":"e-1","error":{"code":-32601,"message":"Method not found"}}` + "\n")
	f.choose(rec, "pg") // an editor that fails to show it ends nothing
	f.agent.wants(`{"jsonrpc":"2.0","id":"e-1","result":{"action":"accept","content":{"db":"pg"}}}` + "\n")
}

func TestNobodyWaitsAnyMore(t *testing.T) {
	t.Parallel()
	t.Run("the agent takes it back", func(t *testing.T) {
		t.Parallel()
		f := permitting(t)
		f.agent.say(cancelSeven)
		f.editor.wants(cancelSeven)
		if line := f.agent.hears(); !strings.Contains(line, `"outcome":{"outcome":"cancelled"}`) {
			t.Errorf("the agent got %s", line)
		}
		f.withdrawn("the agent took it back")
		f.editor.say(noChoice, cancelSeven) // late and repeated
		f.agent.wants(cancelSeven)
		f.agent.say(elicit)
		f.screen.Next(board.Pending)
		f.agent.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"e-1"}}` + "\n")
		f.agent.wants(`{"jsonrpc":"2.0","id":"e-1","error":{"code":-32800,"message":"Request cancelled"}}` + "\n")
	})
	t.Run("the editor cancels the turn", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		stop := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"sess"}}` + "\n"
		f.agent.say(elicit)
		f.screen.Next(board.Pending)
		f.editor.say(strings.Replace(stop, "sess", "other", 1))
		f.agent.hears()
		f.editor.say(stop)
		f.agent.wants(stop)
		if line := f.agent.hears(); !strings.Contains(line, `"action":"cancel"`) {
			t.Errorf("the agent got %s", line)
		}
		f.withdrawn("the turn was cancelled in the editor")
	})
	t.Run("the editor has gone", func(t *testing.T) {
		t.Parallel()
		f := permitting(t)
		_ = f.editor.says.Close()
		f.withdrawn("the editor has gone")
		if line := f.agent.hears(); line != "" { // its input has ended
			t.Errorf("the agent got %s", line)
		}
		f.agent.say(`{"last":"words"}` + "\n")
		f.editor.wants(`{"last":"words"}` + "\n")
		_ = f.agent.says.Close()
		f.ended()
	})
	t.Run("the editor reads no more", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.agent.say(elicit)
		f.screen.Next(board.Pending)
		_ = f.editor.hear.Close()
		f.agent.say("{}\n")
		f.withdrawn("the editor has gone")
		f.ended()
	})
	for name, end := range map[string]func(f *fixture) (reason string){
		"the agent was killed":   func(f *fixture) string { _ = f.agent.says.Close(); return "the agent has gone" },
		"askbus is told to stop": func(f *fixture) string { f.stop(); return "the session was stopped" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := permitting(t)
			f.withdrawn(end(f))
			f.ended()
		})
	}
}

func TestTheBusIsAway(t *testing.T) {
	t.Parallel()
	f := away(t)
	f.introduce(initPlain)
	f.agent.say(permission)
	f.editor.wants(permission)
	f.editor.say(chose)
	f.agent.wants(chose)
	f.agent.say(elicit)
	if line := f.agent.hears(); !strings.Contains(line, `"code":-32603`) || !strings.Contains(line, "the bus is away") {
		t.Errorf("the agent got %s", line)
	}
	unfit := strings.Replace(elicit, `"type":"string"`, `"type":"_color"`, 1)
	f.agent.say(unfit)
	if line := f.agent.hears(); !strings.Contains(line, `"code":-32602`) || !strings.Contains(line, "_color") {
		t.Errorf("the agent got %s", line)
	}
	f.introduce(initForms)
	f.agent.say(unfit) // only the editor handles it
	f.editor.wants(unfit)
	f.editor.say(`{"jsonrpc":"2.0","id":"e-1","result":{"action":"accept","content":{"db":"red"}}}` + "\n")
	f.agent.wants(`{"jsonrpc":"2.0","id":"e-1","result":{"action":"accept","content":{"db":"red"}}}` + "\n")
	refused := `{"jsonrpc":"2.0","id":"e-1","error":{"code":-32601,"message":"Method not found"}}` + "\n"
	f.agent.say(elicit)
	f.editor.wants(elicit)
	f.editor.say(refused)
	f.agent.wants(refused)
}

// TestTwoThousandQuestionsLeaveNothing is not parallel: it counts goroutines of the process.
func TestTwoThousandQuestionsLeaveNothing(t *testing.T) {
	f := start(t)
	go func() { // drain the screen's events
		for range f.screen.Events {
		}
	}()
	f.bus.AnswerAll("tui")
	f.introduce(initPlain)
	say, answers := make(chan string), make(chan string, 64)
	go func() {
		for line := range say {
			f.agent.say(line)
		}
	}()
	defer close(say)
	wait := map[string]chan string{}
	for i := range 64 {
		wait[fmt.Sprint(i)] = make(chan string, 1)
	}
	go func() {
		for {
			line, err := f.agent.told.ReadString('\n')
			if err != nil {
				return
			}
			answers <- line
		}
	}()
	free := make(chan string, len(wait))
	for id := range wait {
		free <- id
	}
	go func() {
		for line := range answers {
			var m struct {
				ID string `json:"id"`
			}
			if json.Unmarshal([]byte(line), &m) == nil && wait[m.ID] != nil {
				wait[m.ID] <- line
			}
		}
	}()
	f.bus.LeavesNothing(t, func(int) error {
		id := <-free
		defer func() { free <- id }()
		say <- strings.Replace(elicit, `"e-1"`, `"`+id+`"`, 1)
		if line := <-wait[id]; !strings.Contains(line, `"accept"`) {
			return fmt.Errorf("the agent got %s", line)
		}
		return nil
	})
}
