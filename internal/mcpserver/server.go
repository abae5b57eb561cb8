package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Caller is who calls the tools: one agent in one session.
type Caller struct {
	Tenant, Session string
	Agent           ask.Agent      // what is not known is filled in from the client's own words
	Metadata        map[string]any // goes into every ask
	Human           ask.By         // who sits at the client, for forms
	Forms           bool           // forms may be shown in the client, too
	Outlive         bool           // what is asked with a form stays open when the client is gone

	// Mark proves that the client with the forms asked k ([ask.MetadataHost]). It
	// is put into what is asked, and without it in an ask no form answers that
	// ask. Nil is a process of the person's own user, which needs no proof.
	Mark func(k ask.Key) string
	// Unproven is what to say to a client without Forms that sends one back.
	Unproven string
}

// Opener gives the way to the asks of one session, for one call. The error is a sentence for a model: what to do when the bus
// cannot be reached. Calls may come concurrently.
type Opener interface {
	Open(ctx context.Context, tenant, session string) (client.Session, error)
}

// Decider sends what somebody answered in a form, as responder type
// [ask.ResponderElicit]. Repeating a reply with its answer id is harmless.
// Errors are those of pkg/responder.
type Decider interface {
	Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error)
	Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error)
}

// Options tunes a [Server]. The zero value is ready to use.
type Options struct {
	Logger   *slog.Logger         // default: discard
	Version  string               // of askbus; default "dev"
	Wait     time.Duration        // how long a call waits that does not say; default 50 s
	Progress time.Duration        // between progress notifications; default 20 s
	Reuse    time.Duration        // how long a human's answer is given again to the same question; default 10 min
	Link     func(ask.Key) string // where a person answers; default: not said
	Decider  Decider              // default: no forms
	// Waiting is told when a call begins to wait for people; done ends it. Default: nobody is.
	Waiting func(*ask.Ask) (done func())
	// Span begins a span of a call of a tool, below the caller's W3C traceparent ("" when it sent none). Default: what is
	// asked carries that traceparent.
	Span func(ctx context.Context, tool, traceparent string) (context.Context, func(error))
}

// The defaults of [Options]. Most clients drop a call after 60 s, and some a
// connection that was silent for longer than 30 s.
const (
	DefaultWait     = 50 * time.Second
	DefaultProgress = 20 * time.Second
	DefaultReuse    = 10 * time.Minute
)

// Server makes MCP servers. It is safe for concurrent use.
type Server struct {
	open Opener
	opts Options
	runs runs
	form forms
}

// New makes a server. It starts nothing.
func New(open Opener, opts Options) *Server {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Version == "" {
		opts.Version = "dev"
	}
	if opts.Span == nil {
		opts.Span = func(ctx context.Context, _, traceparent string) (context.Context, func(error)) {
			return client.WithTrace(ctx, traceparent), func(error) {}
		}
	}
	if opts.Wait <= 0 {
		opts.Wait = DefaultWait
	}
	if opts.Progress <= 0 {
		opts.Progress = DefaultProgress
	}
	if opts.Reuse <= 0 {
		opts.Reuse = DefaultReuse
	}
	return &Server{open: open, opts: opts}
}

// Run serves one client on a pair of pipes until ctx ends, or in is at its end
// and what it asked for is answered.
// Nothing but the protocol is written to out.
func (s *Server) Run(ctx context.Context, who Caller, in io.Reader, out io.Writer) error {
	defer s.form.done.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	both := newPipe(ctx, in, out)
	err := s.server(ctx, context.WithoutCancel(ctx), who).Run(ctx, &mcp.IOTransport{Reader: both, Writer: both})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // told to stop
	}
	return err
}

// server makes the MCP server for one caller. Forms end with life; calls that wait
// end with life, and with over.
func (s *Server) server(life, over context.Context, who Caller) *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "askbus", Title: "askbus: ask a human", Version: s.opts.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(slog.DiscardHandler), // to it, being told to stop is an error
		Capabilities: &mcp.ServerCapabilities{},     // no logging
	})
	for _, t := range tools() {
		m.AddTool(t.Tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			c := &call{s: s, life: life, over: over, who: who, req: req, began: time.Now()}
			ctx, end := s.opts.Span(ctx, t.Tool.Name, traceOf(req))
			result, err := t.serve(c, ctx)
			end(err)
			return result, err
		})
	}
	return m
}

// traceOf is the caller's trace: of the call, as MCP has it in _meta, else of the
// HTTP request.
func traceOf(req *mcp.CallToolRequest) string {
	if s, ok := req.Params.Meta["traceparent"].(string); ok && len(s) <= maxTrace {
		return s
	}
	if req.Extra != nil {
		if s := req.Extra.Header.Get("Traceparent"); len(s) <= maxTrace {
			return s
		}
	}
	return ""
}

// maxTrace is how long a traceparent may be that is passed on.
const maxTrace = 128

// call is one call of a tool.
type call struct {
	s     *Server
	life  context.Context //nolint:containedctx // of the server that the call came to, for forms that outlive it
	over  context.Context //nolint:containedctx // of its caller, who may lose the right to call
	who   Caller
	req   *mcp.CallToolRequest
	began time.Time
}

// runs remembers how many asks one content had in a session, so that the next
// one is found at once.
type runs struct {
	mu   sync.Mutex
	last map[ask.Key]int
}

// maxRuns bounds what is remembered; forgetting costs a few requests.
const maxRuns = 10_000

func (r *runs) at(k ask.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(1, r.last[k])
}

func (r *runs) set(k ask.Key, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || len(r.last) >= maxRuns {
		r.last = map[ask.Key]int{}
	}
	if n > 1 {
		r.last[k] = n
	}
}
