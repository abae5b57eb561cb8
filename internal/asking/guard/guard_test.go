package guard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/guard"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// fixture is a bus, a screen, and the directory that guards share.
type fixture struct {
	t      *testing.T
	bus    *natstest.Bus
	screen *natstest.Screen
	open   natstest.Opener
	dir    string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	bus := natstest.Start(t, natstest.Options{})
	return &fixture{t, bus, bus.Screen(), natstest.Opener{Conn: bus.Agent("acme", "s-1")}, t.TempDir()}
}

// ends are the client and the server of a running guard.
type ends struct {
	t             *testing.T
	toGuard       *io.PipeWriter // of the client
	fromServer    *io.PipeWriter
	stop          context.CancelFunc
	done          chan error
	readsAtClient chan string
	readsAtServer chan string
	finish        sync.Once
}

// run starts a guard. Rules are YAML.
func (f *fixture) run(rules string, wait time.Duration) *ends {
	f.t.Helper()
	r, err := guard.ReadRules([]byte(rules))
	if err != nil {
		f.t.Fatal(err)
	}
	c1, c2 := io.Pipe() // client to guard
	g1, g2 := io.Pipe() // guard to client
	s1, s2 := io.Pipe() // guard to server
	t1, t2 := io.Pipe() // server to guard
	ctx, stop := context.WithCancel(context.WithoutCancel(f.t.Context()))
	e := &ends{t: f.t, toGuard: c2, fromServer: t2, stop: stop, done: make(chan error, 1), readsAtClient: make(chan string, 64), readsAtServer: make(chan string, 64)}
	go read(g1, e.readsAtClient)
	go func() { read(s1, e.readsAtServer); _ = t2.Close() }() // a server ends with its input
	go func() {
		e.done <- guard.Run(ctx, f.open, guard.Caller{Tenant: "acme", Session: "s-1"}, guard.Side{In: c1, Out: g2}, guard.Side{In: t1, Out: s2}, guard.Options{Dir: f.dir, Rules: r, Name: "files", Wait: wait, Logger: natstest.Logger()})
		_ = g2.Close()
	}()
	f.t.Cleanup(func() { stop(); _ = c2.Close(); e.ended() })
	return e
}

func read(from io.Reader, to chan<- string) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			close(to)
			return
		}
		to <- line
	}
}

func (e *ends) say(line string) {
	e.t.Helper()
	if _, err := io.WriteString(e.toGuard, line); err != nil {
		e.t.Error(err)
	}
}

func (e *ends) reply(line string) {
	e.t.Helper()
	if _, err := io.WriteString(e.fromServer, line); err != nil {
		e.t.Error(err)
	}
}

// next returns the next line that arrives.
func (e *ends) next(at <-chan string) string {
	e.t.Helper()
	select {
	case line := <-at:
		return line
	case <-time.After(waittest.Limit):
		e.t.Fatal("nothing arrives")
		return ""
	}
}

// ended waits until the guard has returned.
func (e *ends) ended() {
	e.finish.Do(func() {
		select {
		case <-e.done:
		case <-time.After(waittest.Limit):
			e.t.Error("the guard does not end")
		}
	})
}

// kill ends the guard as its death would: nothing that runs is finished.
func (e *ends) kill() { e.stop(); e.ended() }

func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"id": %d, "jsonrpc":"2.0","method":"tools/call", "params":{"arguments": %s,"name":%q}}`+"\n", id, arguments, tool)
}

// told returns the text of a tool's result.
func told(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) != 1 {
		t.Fatalf("%v: %s", err, line)
	}
	return m.Result.Content[0].Text
}

func (f *fixture) decide(rec ask.Record, option, note string) {
	f.t.Helper()
	reply := ask.Reply{By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "permission", Selected: []string{option}, Notes: note}}}
	if _, err := f.screen.Answer(f.t.Context(), rec.Ask.Key(), reply); err != nil {
		f.t.Error(err)
	}
}

const readsPass = "rules:\n- {tool: read_*, then: allow}\n- {tool: '*', arguments: {/path: /etc/*}, then: refuse, reason: not there}\n"

func TestWhatNeedsNobodyPassesUnchanged(t *testing.T) {
	t.Parallel()
	e := newFixture(t).run(readsPass, time.Minute)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{ "x" : [1,2] }}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\r\n",
		call(1, "read_file", `{"path":"\u0061  b"}`),
		`{"result":{},"id":5,"jsonrpc":"2.0"}` + "\n",
	} {
		e.say(line)
		if got := e.next(e.readsAtServer); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"content": [] , "z":1}}` + "\n", `{"method":"roots/list","id":5,"jsonrpc":"2.0"}` + "\n"} {
		e.reply(line)
		if got := e.next(e.readsAtClient); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestTheGuardAddsItsToolToTheLastPage(t *testing.T) {
	t.Parallel()
	e := newFixture(t).run("", time.Minute)
	for cursor, want := range map[string]int{`,"nextCursor":"2"`: 0, ``: 1} {
		e.say(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}` + "\n")
		e.next(e.readsAtServer)
		e.reply(`{"jsonrpc":"2.0","id":9,"result":{"tools":[{"name":"write_file","inputSchema":{"type":"object"}}]` + cursor + `}}` + "\n")
		if got := e.next(e.readsAtClient); strings.Count(got, `"askbus_result"`) != want || !strings.Contains(got, `{"name":"write_file","inputSchema":{"type":"object"}}`) {
			t.Errorf("%s: %s", cursor, got)
		}
	}
}

func TestAPersonDecidesBeforeACallRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.run(readsPass, time.Minute)
	line := call(3, "write_file", `{"path":"a.txt","content":"\u202ex"}`)
	for i, c := range []struct{ option, note string }{{"allow", ""}, {"refuse", "use b.txt"}, {"allow", ""}} {
		e.say(line)
		rec := f.screen.Next(board.Pending)
		if q := rec.Ask.Questions[0]; q.Text != "May the agent use `write_file` of the MCP server `files`?" || !strings.Contains(rec.Ask.Context, `⟨U+202E⟩`) && !strings.Contains(rec.Ask.Context, `\u202e`) || !rec.Ask.WhileWaiting || q.Option("stop") != nil {
			t.Fatalf("the card: %+v", rec.Ask)
		}
		f.decide(rec, c.option, c.note)
		if c.option == "refuse" {
			if got := told(t, e.next(e.readsAtClient)); got != "not carried out: use b.txt" {
				t.Errorf("refused: %s", got)
			}
			continue
		}
		if got := e.next(e.readsAtServer); got != line {
			t.Errorf("%d: %q became %q", i, line, got)
		}
	}
	// Refusals of rules reach nobody else.
	e.say(call(4, "read_file", `{"path":"/etc/passwd"}`))
	if got := told(t, e.next(e.readsAtClient)); got != "not carried out: not there" {
		t.Errorf("refused: %s", got)
	}
}

// A call that is too long for an ask is permitted with all of it in a file.
func TestALongCallIsShownWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.run(readsPass, time.Minute)
	content := strings.Repeat("x", 100_000) + "END" + strings.Repeat("y", 100_000)
	line := call(3, "write_file", `{"path":"a.txt","content":"`+content+`"}`)
	e.say(line)
	rec := f.screen.Next(board.Pending)
	if whole := f.screen.Whole(&rec.Ask); !strings.Contains(whole, content) {
		t.Errorf("the file has %d bytes", len(whole))
	}
	f.decide(rec, "allow", "")
	if got := e.next(e.readsAtServer); got != line {
		t.Errorf("%d bytes are carried out", len(got))
	}
}

func TestALateCallIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.run("", time.Millisecond)
	e.say(call(1, "write_file", `{"path":"a"}`))
	rec := f.screen.Next(board.Pending)
	pending := told(t, e.next(e.readsAtClient))
	if !strings.HasPrefix(pending, "pending: ") || !strings.Contains(pending, rec.Ask.ID) {
		t.Fatalf("late: %s", pending)
	}
	state := func(e *ends) string {
		e.say(call(2, guard.ResultTool, fmt.Sprintf(`{"id":%q,"wait_seconds":0}`, rec.Ask.ID)))
		return e.next(e.readsAtClient)
	}
	if got := told(t, state(e)); !strings.HasPrefix(got, "pending: ") {
		t.Errorf("meanwhile: %s", got)
	}
	f.decide(rec, "allow", "")
	own := e.next(e.readsAtServer)
	if !strings.Contains(own, `"id":"askbus-`+rec.Ask.ID+`"`) || !strings.Contains(own, `"params":{"arguments":{"path":"a"},"name":"write_file"}`) {
		t.Errorf("the server gets %s", own)
	}
	if got := told(t, state(e)); !strings.HasPrefix(got, "running: ") {
		t.Errorf("while it runs: %s", got)
	}
	e.reply(`{"jsonrpc":"2.0","id":"askbus-` + rec.Ask.ID + `","result":{"content":[{"type":"text","text":"written"}],"structuredContent":{"n":1}}}` + "\n")
	want := `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"written"}],"structuredContent":{"n":1}}}` + "\n"
	natstest.Eventually(t, "the result", func() bool { return state(e) == want })
	e.kill()
	if got := state(f.run("", time.Millisecond)); got != want {
		t.Errorf("after a restart: %s", got)
	}
	if got := told(t, func() string {
		e := f.run("", time.Millisecond)
		e.say(call(2, guard.ResultTool, `{"id":"other"}`))
		return e.next(e.readsAtClient)
	}()); !strings.Contains(got, "no call") {
		t.Errorf("an unknown id: %s", got)
	}
}

func TestACallWhoseGuardDiedIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rules := "rules:\n- {tool: '*', then: ask, without_client: true}\n"
	e := f.run(rules, time.Millisecond)
	e.say(call(1, "write_file", `{"path":"a"}`))
	rec := f.screen.Next(board.Pending)
	e.next(e.readsAtClient) // pending
	f.decide(rec, "allow", "")
	e.next(e.readsAtServer) // it runs
	e.kill()
	e = f.run(rules, time.Millisecond)
	e.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	e.next(e.readsAtServer)
	e.say(call(2, guard.ResultTool, fmt.Sprintf(`{"id":%q}`, rec.Ask.ID)))
	if got := told(t, e.next(e.readsAtClient)); !strings.HasPrefix(got, "unknown, not repeated: ") {
		t.Errorf("after the death: %s", got)
	}
	select {
	case line := <-e.readsAtServer:
		t.Errorf("it is repeated: %s", line)
	default:
	}
}

func TestACallIsCarriedOutWithoutItsClientOnlyIfTheRuleSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.run("rules:\n- {tool: 'deploy', then: ask, without_client: true}\n", time.Millisecond)
	for i, tool := range []string{"write_file", "deploy"} {
		e.say(call(i, tool, `{}`))
		e.next(e.readsAtClient) // pending
	}
	asked := map[bool]ask.Record{}
	for range 2 {
		rec := f.screen.Next(board.Pending)
		asked[strings.Contains(rec.Ask.Questions[0].Text, "deploy")] = rec
	}
	_ = e.toGuard.Close() // the client is gone
	if o := f.screen.Next(board.Resolved); o.Ask.ID != asked[false].Ask.ID || o.Outcome.Status != ask.StatusWithdrawn {
		t.Errorf("the first ends as %+v", o.Outcome)
	}
	e.kill() // and so is the guard: another one carries on
	e = f.run("", time.Minute)
	e.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	e.next(e.readsAtServer)
	f.decide(asked[true], "allow", "")
	if got := e.next(e.readsAtServer); !strings.Contains(got, `"name":"deploy"`) {
		t.Errorf("the server gets %s", got)
	}
	e.reply(`{"jsonrpc":"2.0","id":"askbus-` + asked[true].Ask.ID + `","error":{"code":-1,"message":"no space"}}` + "\n")
	e.say(call(5, guard.ResultTool, fmt.Sprintf(`{"id":%q}`, asked[true].Ask.ID)))
	if got := told(t, e.next(e.readsAtClient)); got != "the server refused the call: no space" {
		t.Errorf("its result: %s", got)
	}
	e.say(call(6, guard.ResultTool, fmt.Sprintf(`{"id":%q}`, asked[false].Ask.ID)))
	if got := told(t, e.next(e.readsAtClient)); got != "not carried out: the client has gone" {
		t.Errorf("the withdrawn one: %s", got)
	}
}

func TestACancelledCallIsWithdrawn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.run("", time.Minute)
	e.say(call(1, "write_file", `{}`))
	rec := f.screen.Next(board.Pending)
	e.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	if o := f.screen.Next(board.Resolved); o.Ask.ID != rec.Ask.ID || o.Outcome.Status != ask.StatusWithdrawn {
		t.Errorf("it ends as %+v", o.Outcome)
	}
	e.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
	if got := e.next(e.readsAtServer); !strings.Contains(got, "ping") { // neither the call nor its cancellation
		t.Errorf("the server gets %s", got)
	}
}

func TestWhatCanBeReadInTwoWaysIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.run("otherwise: allow\nrules:\n- {tool: rm, then: refuse}\n", time.Minute)
	for name, line := range map[string]string{
		"a name twice":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls","name":"rm"}}`,
		"a method twice": `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"rm"}}`,
		"a batch":        `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}]`,
		"not JSON":       `{"jsonrpc":"2.0","id":1,"method":"tools/call",`,
		"two values":     `{} {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}`,
		// A server in Python ends a line at a carriage return, which JSON allows between two tokens.
		"a message within a message": `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + "\r" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rm"}}` + "\r}}",
		"not UTF-8":                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"r\xffm\"}}",
		"no name":                    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"rm"}}`,
		// A server that uses Go's encoding/json ignores the case of names, and the last one counts.
		"a method in another case":          `{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"rm"}}`,
		"a second method in another case":   `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"rm"}}`,
		"other params":                      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls"},"paramſ":{"name":"rm"}}`,
		"another tool in another case":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls","Name":"rm"}}`,
		"other arguments in another case":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls","Arguments":{}}}`,
		"an argument twice in another case": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls","arguments":{"x":[{"key":"a","\u212Aey":"b"}]}}}`,
	} {
		e.say(line + "\n")
		if got := e.next(e.readsAtClient); !strings.Contains(got, `"error":{"code":-32`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	e.say(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"ls"}}` + "\n") // without an id nobody would hear of it
	// Python's codecs end a line at these characters, which JSON allows within a text.
	for _, end := range []string{"\u0085", "\u2028", "\u2029"} {
		e.say(call(2, "ls", `{"x":"`+end+`{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\"}`+end+`"}`))
		if got := e.next(e.readsAtServer); strings.Contains(got, end) || !strings.Contains(got, fmt.Sprintf(`"x":"\u%04x{`, []rune(end)[0])) {
			t.Errorf("the server gets %s", got)
		}
	}
	e.say(call(1, "ls", `{"name":"a","Names":{"name":["a","A",{"a":1}]}}`))
	if got := e.next(e.readsAtServer); !strings.Contains(got, `"id": 1`) {
		t.Errorf("the server gets %s", got)
	}
}

func TestWithoutABusNothingThatNeedsAPersonRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.open.Err = ask.Refuse(ask.CodeUnavailable, `nothing answers; is "askbus up" running?`)
	e := f.run(readsPass, time.Minute)
	e.say(call(1, "write_file", "{}"))
	if got := told(t, e.next(e.readsAtClient)); !strings.Contains(got, "nobody could be asked") || !strings.Contains(got, "askbus up") {
		t.Errorf("it says %s", got)
	}
	e.say(call(2, "read_file", "{}"))
	if got := e.next(e.readsAtServer); !strings.Contains(got, "read_file") {
		t.Errorf("the server gets %s", got)
	}
}

func TestACallOfADestructiveToolIsMarked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.run(readsPass, time.Minute)
	e.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	e.next(e.readsAtServer)
	e.reply(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"drop_table","annotations":{"destructiveHint":true}},{"name":"add_row","annotations":{"destructiveHint":false}},{"name":"other"}]}}` + "\n")
	e.next(e.readsAtClient)
	for i, tool := range []string{"drop_table", "add_row", "other"} {
		e.say(call(2+i, tool, "{}"))
		rec := f.screen.Next(board.Pending)
		for _, o := range rec.Ask.Questions[0].Options {
			if want := tool == "drop_table" && o.ID != "refuse"; o.Destructive != want {
				t.Errorf("%s, %s: destructive %v", tool, o.ID, o.Destructive)
			}
		}
		f.decide(rec, "refuse", "")
		e.next(e.readsAtClient)
	}
}
