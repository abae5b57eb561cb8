package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"testing"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fixture is a bus, a server on it and a person at a screen.
type fixture struct {
	t      *testing.T
	bus    *natstest.Bus
	server *mcpserver.Server
	who    mcpserver.Caller
	screen *natstest.Screen
}

func newFixture(t *testing.T, opts mcpserver.Options) *fixture {
	t.Helper()
	return newFixtureOn(t, natstest.Start(t, natstest.Options{}), opts)
}

func newFixtureOn(t *testing.T, bus *natstest.Bus, opts mcpserver.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, bus: bus}
	f.who = mcpserver.Caller{
		Tenant: "acme", Session: "s1", Human: ask.By{Principal: "os:ben", Name: "Ben"}, Forms: opts.Decider != nil,
	}
	opts.Logger = natstest.Logger()
	if opts.Decider != nil {
		opts.Decider = f.bus.Dialog(ask.ResponderElicit)
	}
	f.server = mcpserver.New(natstest.Opener{Conn: f.bus.Agent("acme", "s1")}, opts)
	f.screen = f.bus.Screen()
	return f
}

// answer answers the screen's next ask with its first option.
func (f *fixture) answer() ask.Record {
	f.t.Helper()
	rec := f.screen.Next(board.Pending)
	f.screen.Choose(rec, "o1")
	return rec
}

// soon answers in the background.
func (f *fixture) soon() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.answer()
	}()
	f.t.Cleanup(func() { <-done })
}

// connect connects an MCP client of the newest revision over pipes.
func (f *fixture) connect(opts *mcp.ClientOptions) *mcp.ClientSession {
	f.t.Helper()
	return f.connectAs("", opts)
}

func (f *fixture) connectAs(revision string, opts *mcp.ClientOptions) *mcp.ClientSession {
	f.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- f.server.Run(context.Background(), f.who, inR, outW)
		_ = outW.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, opts)
	cs, err := c.Connect(f.t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = cs.Close()
		_ = inW.Close()
		if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			f.t.Errorf("the server ended with %v", err)
		}
	})
	return cs
}

// reply is a decoded tool result.
type reply struct {
	text    string
	object  map[string]any
	isError bool
}

func (f *fixture) call(ctx context.Context, cs *mcp.ClientSession, tool string, args any) (reply, error) {
	f.t.Helper()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return reply{}, err
	}
	return read(f.t, res), nil
}

func read(t *testing.T, res *mcp.CallToolResult) reply {
	t.Helper()
	r := reply{isError: res.IsError}
	if len(res.Content) > 0 {
		text, ok := res.Content[0].(*mcp.TextContent)
		if !ok {
			t.Fatalf("the content is %T", res.Content[0])
		}
		r.text = text.Text
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r.object); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return r
}

func (f *fixture) must(cs *mcp.ClientSession, tool string, args any) reply {
	f.t.Helper()
	r, err := f.call(f.t.Context(), cs, tool, args)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// database returns a question with two options.
func database(more map[string]any) map[string]any {
	args := map[string]any{"questions": []any{map[string]any{
		"question": "Which database?", "header": "Storage", "multiSelect": false,
		"options": []any{map[string]any{"label": "PostgreSQL", "description": "already deployed"}, map[string]any{"label": "SQLite", "description": "one file"}},
	}}}
	maps.Copy(args, more)
	return args
}
