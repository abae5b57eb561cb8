package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/mcpserver"
	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/internal/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
)

// fixture is a bus, a server on it and a person at a screen.
type fixture struct {
	t      *testing.T
	bus    *natstest.Bus
	server *mcpserver.Server
	who    mcpserver.Caller
	screen *responder.Responder
	events chan responder.Event // the screen's events
}

// opener opens the asks of a session over its own connection.
type opener struct {
	t   *testing.T
	nc  *nats.Conn
	err error
}

func (o opener) Open(_ context.Context, tenant, session string) (client.Session, error) {
	if o.err != nil {
		return client.Session{}, o.err
	}
	c, err := client.New(o.nc, client.Options{Logger: natstest.Logger()})
	if err != nil {
		return client.Session{}, err
	}
	return c.Session(tenant, session), nil
}

// decider answers as responder type elicit.
type decider struct{ *responder.Responder }

func (d decider) Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error) {
	return d.Cancel(ctx, k, responder.Decline{AnswerID: r.AnswerID, Reason: reason, By: r.By})
}

func newFixture(t *testing.T, opts mcpserver.Options) *fixture {
	t.Helper()
	return newFixtureOn(t, natstest.Start(t, natstest.Options{}), opts)
}

func newFixtureOn(t *testing.T, bus *natstest.Bus, opts mcpserver.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, bus: bus, events: make(chan responder.Event, 100)}
	f.who = mcpserver.Caller{
		Tenant: "acme", Session: "s1", Human: ask.By{Principal: "os:ben", Name: "Ben"}, Forms: opts.Decider != nil,
	}
	opts.Logger = natstest.Logger()
	if opts.Decider != nil {
		opts.Decider = decider{f.responder(ask.ResponderElicit)}
	}
	f.server = mcpserver.New(opener{t: t, nc: f.bus.Agent("acme", "s1")}, opts)
	f.screen = f.responder("web")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.screen.Watch(ctx, func(e responder.Event) {
			select {
			case f.events <- e:
			case <-ctx.Done():
			}
		}); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	f.next(responder.Synced)
	return f
}

func (f *fixture) responder(typ string) *responder.Responder {
	f.t.Helper()
	r, err := responder.New(f.bus.Responder(typ), typ, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// next waits for an event of a kind at the screen.
func (f *fixture) next(kind responder.EventKind) ask.Record {
	f.t.Helper()
	limit := time.After(waittest.Limit)
	for {
		select {
		case e := <-f.events:
			if e.Kind == kind {
				return e.Record
			}
		case <-limit:
			f.t.Fatalf("the screen got no event of kind %d", kind)
		}
	}
}

// answer answers the screen's next ask with its first option.
func (f *fixture) answer() ask.Record {
	f.t.Helper()
	rec := f.next(responder.Pending)
	f.choose(rec, "o1")
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

func (f *fixture) choose(rec ask.Record, option string) {
	f.t.Helper()
	var answers []ask.Answer
	for _, q := range rec.Ask.Questions {
		answers = append(answers, ask.Answer{QuestionID: q.ID, Selected: []string{option}})
	}
	_, err := f.screen.Answer(context.WithoutCancel(f.t.Context()), rec.Ask.Key(), ask.Reply{Answers: answers, By: ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"}})
	if err != nil {
		f.t.Error(err)
	}
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
		"options": []any{map[string]any{"label": "PostgreSQL", "description": "operated already"}, map[string]any{"label": "SQLite", "description": "one file"}},
	}}}
	maps.Copy(args, more)
	return args
}
