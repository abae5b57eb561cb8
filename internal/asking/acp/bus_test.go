package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/acp"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// fixture is a bus, a person at a screen, and an editor and an agent whose lines the test sends.
type fixture struct {
	t      *testing.T
	bus    *natstest.Bus
	screen *natstest.Screen

	editor, agent end
	stop          context.CancelFunc
	done          chan struct{} // Run has returned
}

// end is the test's side of a connection: it sends and receives lines.
type end struct {
	t    *testing.T
	says io.WriteCloser
	told *bufio.Reader
	hear io.Closer
}

var errAway = errors.New("the bus is away")

// start starts a bus with a screen, and a proxy on it.
func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, bus: natstest.Start(t, natstest.Options{})}
	f.screen = f.bus.Screen()
	f.run(nil)
	return f
}

// permitting starts the same, and lets the agent ask for a permission, which the editor and the screen
// show.
func permitting(t *testing.T) *fixture {
	t.Helper()
	f := start(t)
	f.agent.say(permission)
	f.editor.wants(permission)
	f.screen.Next(board.Pending)
	return f
}

// away starts a proxy without a bus.
func away(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t}
	f.run(errAway)
	return f
}

func (f *fixture) run(broken error) {
	f.t.Helper()
	open, opts := natstest.Opener{Err: broken}, relay.Options{Logger: natstest.Logger()}
	if broken == nil {
		open.Conn, opts.Decider = f.bus.Agent("acme", "s1"), f.bus.Dialog(ask.ResponderNative)
	}
	side := func() (relay.Side, end) {
		in, says := io.Pipe()
		told, out := io.Pipe()
		f.t.Cleanup(func() { _, _ = says.Close(), told.Close() })
		return relay.Side{In: in, Out: out}, end{f.t, says, bufio.NewReader(told), told}
	}
	var editor, agent relay.Side
	editor, f.editor = side()
	agent, f.agent = side()
	ctx, cancel := context.WithCancel(f.t.Context())
	f.stop, f.done = cancel, make(chan struct{})
	go func() {
		defer close(f.done)
		relay.Run(ctx, &acp.Protocol{}, open, relay.Caller{Tenant: "acme", Session: "s1", Human: ask.By{Principal: "os:ben", Name: "Ben"}}, editor, agent, opts)
		_ = editor.Out.Close()
	}()
	f.t.Cleanup(func() { cancel(); f.ended() })
}

// ended waits until Run has returned.
func (f *fixture) ended() {
	f.t.Helper()
	select {
	case <-f.done:
	case <-time.After(waittest.Limit):
		f.t.Error("Run has not returned")
	}
}

func (e end) say(lines ...string) {
	e.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(e.says, l); err != nil {
			e.t.Fatal(err)
		}
	}
}

// hears returns the next received line.
func (e end) hears() string {
	e.t.Helper()
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := e.told.ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			e.t.Fatal(r.err)
		}
		return r.line
	case <-time.After(waittest.Limit):
		e.t.Fatal("nothing was received")
		return ""
	}
}

// wants checks the next received line.
func (e end) wants(line string) {
	e.t.Helper()
	if got := e.hears(); got != line {
		e.t.Errorf("got\n%s\nwant\n%s", got, line)
	}
}

// choose answers on the screen.
func (f *fixture) choose(rec ask.Record, option string) {
	f.t.Helper()
	if !rec.Ask.WhileWaiting {
		f.t.Error("the ask does not depend on the agent's wait")
	}
	f.screen.Choose(rec, option)
}

// withdrawn waits for the next outcome and checks that it is a withdrawal with this reason.
func (f *fixture) withdrawn(reason string) {
	f.t.Helper()
	o := f.screen.Next(board.Resolved).Outcome
	if o.Status != ask.StatusWithdrawn || o.Reason != reason {
		f.t.Errorf("the outcome is %s, %q", o.Status, o.Reason)
	}
}

// Lines of both sides.
const (
	initPlain = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}` + "\n"
	initForms = `{"jsonrpc":"2.0", "id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}}}` + "\n"

	permission = `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"sess","toolCall":{"toolCallId":"c1","title":"Run make"},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"always","name":"Always allow make","kind":"allow_always"},{"optionId":"all","name":"Always allow","kind":"allow_always"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}` + "\n"
	elicit     = `{"jsonrpc":"2.0","id":"e-1","method":"elicitation/create","params":{"sessionId":"sess","mode":"form","message":"Which database?","requestedSchema":{"type":"object","properties":{"db":{"type":"string","oneOf":[{"const":"pg","title":"PostgreSQL"},{"const":"lite","title":"SQLite"}]}},"required":["db"]}}}` + "\n"

	cancelSeven = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}` + "\n"
	chose       = `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"always"}}}` + "\n"
	noChoice    = `{"jsonrpc":"2.0", "id":7, "result":{"outcome":{"outcome":"cancelled"}}}` + "\n"
)

// introduce sends the editor's initialize request, and checks what the agent gets.
func (f *fixture) introduce(line string) {
	f.t.Helper()
	f.editor.say(line)
	heard := f.agent.hears()
	var m struct {
		Params struct {
			ClientCapabilities struct {
				Elicitation struct {
					Form *struct{} `json:"form"`
				} `json:"elicitation"`
			} `json:"clientCapabilities"`
		} `json:"params"`
	}
	if err := json.Unmarshal([]byte(heard), &m); err != nil || m.Params.ClientCapabilities.Elicitation.Form == nil {
		f.t.Errorf("the agent got %s", heard)
	}
	if strings.Contains(line, "elicitation") && heard != line {
		f.t.Errorf("%s became %s", line, heard)
	}
}
