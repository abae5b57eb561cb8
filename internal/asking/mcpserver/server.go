package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Caller is the caller of the tools: one agent in one session.
type Caller struct {
	Tenant, Session string
	Agent           ask.Agent      // missing fields come from the client
	Metadata        map[string]any // added to every ask
	Human           ask.By         // the person at the client, for forms
	Forms           bool           // allow forms in the client
	Outlive         bool           // asks with a form stay open when the client exits
	Permissions     bool           // offer the tool PermissionPrompt
	Language        string         // of the words of permissions; default: English

	// Mark proves that the client with the forms asked k ([ask.MetadataHost]). It is added to asks,
	// and forms answer only asks with it. Nil means a process of the person's own user, which needs
	// no proof.
	Mark func(k ask.Key) string
	// Unproven explains the refusal of a form from a client without Forms.
	Unproven string
}

// Opener returns the asks of one session, for one call. Its error tells a model what to do when the
// bus is unreachable. Calls may be concurrent.
type Opener interface {
	Open(ctx context.Context, tenant, session string) (client.Session, error)
}

// Decider sends the answers of forms, as responder type [ask.ResponderElicit]. Repeating a reply
// with its answer id is harmless. Errors are those of pkg/responder.
type Decider interface {
	Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error)
	Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error)
}

// Options tunes a [Server]. The zero value is ready to use.
type Options struct {
	Logger   *slog.Logger         // default: discard
	Version  string               // of askbus; default "dev"
	Wait     time.Duration        // default wait of a call; default 50 s
	Progress time.Duration        // interval of progress notifications; default 20 s
	Link     func(ask.Key) string // URL at which a person answers; default: none
	Decider  Decider              // default: no forms
	// ReadFile reads a file that an agent names by its path. It decides which ones an agent may show to people.
	// Default: paths are refused.
	ReadFile func(path string) ([]byte, error)
	// Waiting is called when a call begins to wait for people; done ends it. Default: none.
	Waiting func(*ask.Ask) (done func())
	// Span begins a span of a tool call, as a child of the caller's W3C traceparent ("" if it sent
	// none). Default: asks carry that traceparent.
	Span func(ctx context.Context, tool, traceparent string) (context.Context, func(error))
}

// Defaults of [Options]. Most clients time out a call after 60 s, and some a connection that was
// silent for more than 30 s.
const (
	DefaultWait     = 50 * time.Second
	defaultProgress = 20 * time.Second
)

// Server makes MCP servers. It is safe for concurrent use.
type Server struct {
	open Opener
	opts Options
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
		opts.Progress = defaultProgress
	}
	return &Server{open: open, opts: opts}
}

// Run serves one client on a pair of pipes until ctx ends, or in ends and its calls have results.
// It writes only the protocol to out.
func (s *Server) Run(ctx context.Context, who Caller, in io.Reader, out io.Writer) error {
	defer s.form.done.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	both := newPipe(ctx, in, out)
	one := called{Caller: who, life: ctx, over: context.WithoutCancel(ctx)}
	// The pipe bounds a line: the library would end the connection at 16 MiB, which three screenshots have.
	err := s.server(who.Permissions, func(context.Context) (called, bool) { return one, true }).Run(ctx, &mcp.IOTransport{Reader: both, Writer: both, MaxLineLength: -1})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // stopped
	}
	return err
}

// called is the caller of a tool. Forms end with life; waiting calls end with life or over.
type called struct {
	Caller
	life context.Context //nolint:containedctx // of the server
	over context.Context //nolint:containedctx // ends when the caller loses the right to call
	// began is when the call was made, before it was resumed. Default: now.
	began time.Time
}

// server makes an MCP server for callers with or without permissions; by returns the caller of a call
// from its context.
func (s *Server) server(permissions bool, by func(context.Context) (called, bool)) *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "askbus", Title: "askbus: ask a human", Version: s.opts.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(slog.DiscardHandler),                                                   // it logs a normal stop as an error
		Capabilities: &mcp.ServerCapabilities{Extensions: map[string]any{tasksExtension: struct{}{}}}, // no logging
	})
	s.serveTasks(m, by)
	for _, t := range tools(permissions) {
		m.AddTool(t.Tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			who, ok := by(ctx)
			if !ok {
				return failed(ask.Refusal(ask.CodeUnauthorized, ask.FaultNoCaller)), nil
			}
			c := &call{s: s, life: who.life, over: who.over, who: who.Caller, req: req, began: cmp.Or(who.began, time.Now())}
			ctx, end := s.opts.Span(ctx, t.Name, traceOf(req))
			result, err := t.serve(c, ctx)
			end(err)
			return result, err
		})
	}
	return m
}

// traceOf returns the caller's trace: the one in _meta of the MCP call, else that of the
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

// maxTrace bounds the length of a forwarded traceparent.
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
