package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Asks is what the inbox needs of the bus. All methods are safe for concurrent
// use; repeating an Answer or Cancel with the same answer id is harmless.
// Their errors are those of [responder.Responder].
type Asks interface {
	// Watch tells handle, one call at a time, what waits and what ended, until ctx ends.
	Watch(ctx context.Context, handle func(responder.Event)) error
	Get(ctx context.Context, k ask.Key) (ask.Record, error)
	// List gives one page of asks, for earlier answers to the same question.
	List(ctx context.Context, q responder.Query) (responder.Page, error)
	Answer(ctx context.Context, k ask.Key, reply ask.Reply) (ask.Outcome, error)
	Cancel(ctx context.Context, k ask.Key, d responder.Decline) (ask.Outcome, error)
	Receipt(ctx context.Context, k ask.Key, receipt ask.Receipt) error
	// Present declares that somebody looks, until leave is called.
	Present(tenant, session string) (leave func(), err error)
}

var _ Asks = (*responder.Responder)(nil)

// Options tunes a [Server]. CookieKey is required.
type Options struct {
	// CookieKey signs cookies and login links: 32 bytes or more. Every replica
	// with the same key accepts the cookies of the others.
	CookieKey []byte
	// Identity fills in what a login link leaves out, such as the groups.
	Identity ask.By
	// BaseURL is where people reach this inbox; it stands in receipts and its
	// host is accepted. Default: http://localhost.
	BaseURL string
	// Hosts are further host names that the inbox answers for, beside loopback
	// and BaseURL's. Others are refused, so that no foreign page can point its
	// own name at this machine.
	Hosts []string
	// TrustProxy believes X-Forwarded-Proto when it says https.
	TrustProxy bool
	// MaxStreams is the most live browser streams at once; default 500.
	MaxStreams int
	// Heartbeat is how often a silent stream is kept alive; default 15 s.
	Heartbeat time.Duration
	Now       func() time.Time // default: time.Now
	Logger    *slog.Logger     // default: discard
}

// Bounds of the server.
const (
	maxBody     = 1 << 20          // a form, in bytes
	maxListed   = 200              // asks in the list of one page
	maxEnded    = 200              // ended asks that are remembered
	callTimeout = 10 * time.Second // one write to the bus
	readTimeout = 3 * time.Second  // one read: a page shows what it has instead
)

// Server is the web inbox. It is safe for concurrent use.
type Server struct {
	asks    Asks
	opts    Options
	base    *url.URL
	keys    keys
	logins  *usedTokens
	board   *board
	streams *streams
	posted  *receipts
	assets  *assets
	pages   *template.Template
	md      *markdown
}

// New makes an inbox over asks. It starts nothing; see [Server.Run].
func New(asks Asks, opts Options) (*Server, error) {
	if asks == nil {
		return nil, errors.New("web: no asks to show")
	}
	keys, err := deriveKeys(opts.CookieKey)
	if err != nil {
		return nil, err
	}
	if opts.BaseURL == "" {
		opts.BaseURL = "http://localhost"
	}
	base, err := url.Parse(strings.TrimRight(opts.BaseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("web: base URL %q is not like http://host:port", opts.BaseURL)
	}
	if opts.MaxStreams == 0 {
		opts.MaxStreams = 500
	}
	if opts.Heartbeat == 0 {
		opts.Heartbeat = 15 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	s := &Server{
		asks: asks, opts: opts, base: base, keys: keys, assets: assets,
		logins: newUsedTokens(), board: newBoard(), md: newMarkdown(),
	}
	s.streams = newStreams(opts.MaxStreams, asks.Present, opts.Logger)
	s.posted = newReceipts(asks, base.String(), opts.Now, opts.Logger)
	s.pages, err = parseTemplates(assets)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Run watches the bus and feeds the browsers until ctx ends; then it ends the
// live streams, waits for what it started, and returns nil.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	posting := make(chan struct{})
	go func() {
		defer close(posting)
		s.posted.run(ctx, s.board, s.streams)
	}()
	err := s.asks.Watch(ctx, s.board.handle)
	stopped := ctx.Err() != nil
	cancel()
	s.streams.close()
	<-posting
	switch {
	case stopped:
		return nil
	case err == nil:
		return errors.New("web: watching the bus ended by itself")
	default:
		return fmt.Errorf("web: watch the bus: %w", err)
	}
}

// Handler serves the inbox. It may be called before Run, and then says that it
// is not connected yet.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("GET /static/{hash}/{name}", s.assets.serve)
	mux.HandleFunc("GET /{$}", s.person(s.inbox))
	mux.HandleFunc("GET /events", s.person(s.events))
	mux.HandleFunc("GET /ask/{tenant}/{session}/{id}", s.person(s.show))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/answer", s.person(s.answer))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/decline", s.person(s.decline))
	mux.HandleFunc("/", s.person(func(w http.ResponseWriter, r *http.Request, by ask.By) {
		s.notFound(w, by)
	}))
	return s.guard(mux)
}
