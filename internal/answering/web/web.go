package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Board holds the asks that the inbox shows: a [board.Board]. All methods
// are safe for concurrent use.
type Board interface {
	// Run updates the board until ctx ends.
	Run(ctx context.Context) error
	Status() board.Status
	Pending(f board.Filter, offset, limit int) (heads []board.Head, total int)
	Head(k ask.Key) (h board.Head, ok bool)
	Ended(f board.Filter) []ask.Record
	// Recent returns an ask in full, with receipts no older than age. The error
	// is [ask.ErrNotFound] if there is none.
	Recent(ctx context.Context, k ask.Key, age time.Duration) (ask.Record, error)
	// Learn tells the board how an ask ended before the bus does.
	Learn(rec ask.Record)
	Changes(f board.Filter) (changed <-chan struct{}, stop func())
	Follow(f board.Filter) (changed <-chan struct{}, touched func() board.Touched, stop func())

	// Take chooses what a person reads next and tells the other viewers.
	Take(ctx context.Context, v board.Viewer, f board.Filter, t board.Turn) (board.Head, bool)
	// Look and Leave tell the other viewers that a person has an ask open, or
	// has left it.
	Look(v board.Viewer, k ask.Key, answering bool) error
	Leave(v board.Viewer, k ask.Key) error
	Depart(v board.Viewer) error
	Attending(k ask.Key) []board.Attention
	// Snooze and HandOver change whose list an ask is on.
	Snooze(ctx context.Context, v board.Viewer, k ask.Key, until time.Time) error
	Snoozed(ctx context.Context, v board.Viewer) (map[ask.Key]time.Time, error)
	HandOver(ctx context.Context, v board.Viewer, k ask.Key, to, word string) error
	TakeBack(ctx context.Context, v board.Viewer, k ask.Key, from string) error
	People() []ask.By
}

// Asks is what the inbox does on the bus. All methods are safe for concurrent
// use; repeating an Answer or Cancel with the same answer id is harmless.
// Errors are those of [responder.Responder].
type Asks interface {
	// List returns one page of asks, for history and earlier answers.
	List(ctx context.Context, q responder.Query) (responder.Page, error)
	Answer(ctx context.Context, k ask.Key, reply ask.Reply) (ask.Outcome, error)
	Cancel(ctx context.Context, k ask.Key, d responder.Decline) (ask.Outcome, error)
	Unvote(ctx context.Context, k ask.Key, id string, by ask.By) ([]ask.Vote, error)
	Receipt(ctx context.Context, k ask.Key, receipt ask.Receipt) error
	// Upload and File store and read files of a session's asks and answers.
	Upload(ctx context.Context, s ask.Session, name string, data []byte) (ask.File, error)
	File(ctx context.Context, s ask.Session, id string) (ask.File, []byte, error)
	// Present declares a present person, until leave is called.
	Present(tenant, session string) (leave func(), err error)
}

// StandIns is who stands in for whom.
type StandIns interface {
	Of(by ask.By) []ask.StandIn
	All() []ask.StandIn
	Set(ctx context.Context, a responder.Away) (ask.StandIn, error)
}

var _ StandIns = (*board.SharedStandIns)(nil)

// Links is which members of chats are which people. The inbox runs it.
type Links interface {
	Of(by ask.By) []ask.Link
	Claimed(ctx context.Context, by ask.By, code string) (ask.Link, error)
	Link(ctx context.Context, by ask.By, code string) (ask.Link, error)
	Unlink(ctx context.Context, by ask.By, principal string) error
	Run(ctx context.Context) error
}

var _ Links = (*board.SharedLinks)(nil)

var _ Board = (*board.Board)(nil)

var _ Asks = (*responder.Responder)(nil)

// Options tunes a [Server]. CookieKey and Sessions are required.
type Options struct {
	// CookieKey signs cookies and login links: 32 bytes or more. Every replica
	// with the same key accepts the cookies of the others.
	CookieKey []byte
	// Sessions stores the sign-in sessions; the inbox runs it. A cookie holds
	// only a session's id.
	Sessions Sessions
	// Provider signs people in at an OpenID provider; nil: none.
	Provider auth.Provider
	// Passkeys signs people in with passkeys; nil: none.
	Passkeys Passkeys
	// Terminals signs people's terminals in; nil: none.
	Terminals Terminals
	// Proxy in front of this inbox identifies people; nil: none.
	Proxy *Proxy
	// Flags holds the flags that commands need for this inbox, such as "--dir
	// /srv/askbus". They are part of the commands that people are told to copy.
	Flags string
	// Identity fills in the fields that a login link leaves out, such as
	// groups.
	Identity ask.By
	// BaseURL is the address of this inbox for people. It is part of receipts,
	// and its host is accepted. Default: http://localhost.
	BaseURL string
	// Host is the host of this inbox's pages in place of 127.0.0.1 and
	// localhost, from [HostOf]; see [Server.placed]. Empty: pages are served at
	// every accepted host.
	Host string
	// Hosts are further accepted host names, besides loopback and that of
	// BaseURL. Others are refused, which prevents DNS rebinding.
	Hosts []string
	// Push stores push subscriptions, which notify browsers with the page
	// closed; nil: push is off.
	Push Pushes
	// StandIns is who stands in for whom; nil: nobody can be away.
	StandIns StandIns
	// Links is which members of chats are which people; nil: nobody links any.
	Links Links
	// Setup connects what is on this machine, for the person who is Identity and
	// comes from this machine; nil: nothing is set up here.
	Setup Setup
	// Fingerprint is that of a certificate that browsers elsewhere do not trust;
	// empty: they trust it, or there is none.
	Fingerprint string
	// Note receives the inbox's sign-ins and refusals, for the audit. It must
	// not block. Default: none.
	Note func(Event)
	// MaxStreams bounds the open event streams; default 2000.
	MaxStreams int
	// Heartbeat is the interval of heartbeats on a stream; default 8 s. A page that
	// hears nothing for two of them opens another stream.
	Heartbeat time.Duration
	// Undo is how long a page holds an answer before it sends it, so that it can
	// be taken back; at most [MaxUndo], 0: not at all.
	Undo   time.Duration
	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discard
}

// MaxUndo is the longest that an answer is held before it is sent.
const MaxUndo = 10 * time.Second

// Bounds of the server.
const (
	maxBody     = 1 << 20          // of a form, in bytes
	maxListed   = 200              // asks on one page of the list
	receiptAge  = 5 * time.Second  // of receipts by other surfaces
	maxDrawn    = 4096             // rows whose HTML is kept
	callTimeout = 10 * time.Second // one write to the bus
	readTimeout = 3 * time.Second  // one read; a page then shows what it has
)

// Server is the web inbox. It is safe for concurrent use.
type Server struct {
	asks    Asks
	opts    Options
	base    *url.URL
	keys    keys
	board   Board
	streams *streams
	feeds   *feeds
	drawn   *lru.Cache[string, string] // HTML of rows, by version
	posted  *receipts
	assets  *assets
	pages   map[string]*template.Template // by language tag
	files   *places
	logouts chan struct{} // bounds concurrent logout messages of the provider
	md      *markdown
	memory  *memory
	past    *archive
	letting *ratelimit.PerMinute // confirmations, by person
	ringing *ratelimit.PerMinute // test notifications, by person
	guessed *ratelimit.PerMinute // refused codes, by address
	suspect *ratelimit.Steady    // codes from addresses with many refused ones
	proxied proxied
}

// New returns an inbox that shows a board and answers asks. It starts nothing;
// see [Server.Run], which also runs the board.
func New(board Board, asks Asks, opts Options) (*Server, error) {
	if board == nil || asks == nil {
		return nil, errors.New("web: the board and the asks are required")
	}
	if opts.Sessions == nil {
		return nil, errors.New("web: Options.Sessions is required")
	}
	keys, err := deriveKeys(opts.CookieKey)
	if err != nil {
		return nil, err
	}
	opts.BaseURL = cmp.Or(opts.BaseURL, "http://localhost")
	base, err := url.Parse(strings.TrimRight(opts.BaseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("web: base URL %q is not like http://host:port", opts.BaseURL)
	}
	if opts.Undo < 0 || opts.Undo > MaxUndo {
		return nil, fmt.Errorf("web: undo %s: use 0 to %s", opts.Undo, MaxUndo)
	}
	opts.MaxStreams = cmp.Or(opts.MaxStreams, 2000)
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 8*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if err := opts.Proxy.check(); err != nil {
		return nil, err
	}
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	drawn, err := lru.New[string, string](maxDrawn)
	if err != nil {
		return nil, err
	}
	s := &Server{
		asks: asks, opts: opts, base: base, keys: keys, assets: assets,
		board: board, drawn: drawn, md: newMarkdown(), memory: newMemory(), past: newArchive(asks, opts.Now, opts.Logger), logouts: make(chan struct{}, 4), files: newPlaces(maxFiles, filesOfPerson),
		letting: ratelimit.New(confirmations), ringing: ratelimit.New(tests), guessed: ratelimit.NewOpen(guesses), suspect: ratelimit.NewSteady(suspects, 2*suspects),
	}
	s.feeds = newFeeds(s)
	s.streams = newStreams(opts.MaxStreams, asks.Present, opts.Logger)
	s.posted = newReceipts(asks, base.String(), opts.Now, opts.Logger)
	s.pages, err = parseTemplates(assets)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Run updates the board and feeds the browsers until ctx ends; then it ends the
// event streams, waits for its goroutines, and returns nil.
func (s *Server) Run(life context.Context) error {
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	posting := make(chan struct{})
	go func() {
		defer close(posting)
		s.posted.run(ctx, s.board, s.streams)
	}()
	people := make(chan error, 3)
	parts := []func(context.Context) error{s.opts.Sessions.Run}
	if s.opts.Passkeys != nil {
		parts = append(parts, s.opts.Passkeys.Run)
	}
	if s.opts.Links != nil {
		parts = append(parts, s.opts.Links.Run)
	}
	for _, part := range parts {
		go func() {
			defer cancel()
			people <- part(ctx)
		}()
	}
	err := s.board.Run(ctx)
	stopped := life.Err() != nil
	cancel()
	for range parts {
		err = errors.Join(err, <-people)
	}
	s.streams.close()
	s.feeds.close()
	s.past.close()
	s.memory.close()
	<-posting
	switch {
	case stopped:
		return nil
	case err == nil:
		return errors.New("web: the board ended by itself")
	default:
		return fmt.Errorf("web: board: %w", err)
	}
}

// Handler serves the inbox. Before Run, its pages say that the inbox is not
// connected yet.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", s.login)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("POST /language", s.chooseLanguage)
	if s.opts.Provider != nil {
		mux.HandleFunc("GET "+providerPath, s.toProvider)
		mux.HandleFunc("GET "+providerPath+"/callback", s.fromProvider)
		mux.HandleFunc("POST "+providerPath+"/logout", s.loggedOut)
	}
	if s.opts.Passkeys != nil {
		mux.HandleFunc("GET /join", s.join)
		mux.HandleFunc("POST /join/options", s.joinOptions)
		mux.HandleFunc("POST /join", s.joined)
		mux.HandleFunc("POST /login/passkey/options", s.passkeyOptions)
		mux.HandleFunc("POST /login/passkey", s.passkey)
	}
	mux.HandleFunc("GET "+TerminalPath+"/{request}", s.person(s.terminalPage))
	mux.HandleFunc("POST "+TerminalPath+"/{request}", s.person(s.letIn))
	if s.opts.Terminals != nil {
		mux.HandleFunc("POST "+TerminalPath+"/token", s.redeem)
		mux.HandleFunc("POST "+TerminalPath+"/credential", s.terminal(s.terminalCredential))
		mux.HandleFunc("POST "+TerminalPath+"/logout", s.terminal(s.terminalLogout))
	}
	mux.HandleFunc("GET /static/{hash}/{name}", s.assets.serve)
	mux.HandleFunc("GET /sw.js", s.assets.worker)
	mux.HandleFunc("GET /manifest.webmanifest", s.assets.manifest)
	mux.HandleFunc("GET /{$}", s.person(s.inbox))
	mux.HandleFunc("GET /events", s.person(s.events))
	mux.HandleFunc("GET /history", s.person(s.showHistory))
	mux.HandleFunc("GET /history/export", s.person(s.export))
	mux.HandleFunc("GET /history/{tenant}/{session}", s.person(s.conversation))
	mux.HandleFunc("GET "+SetupPath, s.person(s.setup))
	mux.HandleFunc("POST "+SetupPath+"/{step}", s.person(s.setupStep))
	mux.HandleFunc("GET /waiting", s.person(s.showWaiting))
	if s.opts.StandIns != nil {
		mux.HandleFunc("GET /away", s.person(s.showAway))
		mux.HandleFunc("POST /away", s.person(s.setAway))
	}
	if s.opts.Links != nil {
		mux.HandleFunc("GET "+ChatsPath, s.person(s.showChats))
		mux.HandleFunc("GET "+ChatsPath+"/{code}", s.person(s.showChats))
		mux.HandleFunc("POST "+ChatsPath, s.person(s.setChats))
	}
	mux.HandleFunc("GET /bulk", s.person(s.bulk))
	mux.HandleFunc("POST /bulk", s.person(s.declineAll))
	mux.HandleFunc("GET /ask/{tenant}/{session}/{id}", s.person(s.show))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/answer", s.person(s.answer))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/decline", s.person(s.decline))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/take-back", s.person(s.takeBack))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/break-glass", s.person(s.breakGlass))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/snooze", s.person(s.snooze))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/handover", s.person(s.handOver))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/attend", s.person(s.attend))
	mux.HandleFunc("GET /ask/{tenant}/{session}/{id}/notice", s.person(s.notice))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/pick", s.person(s.pick))
	mux.HandleFunc("GET /ask/{tenant}/{session}/{id}/file/{file}", s.person(s.file))
	mux.HandleFunc("POST /ask/{tenant}/{session}/{id}/file", s.person(s.upload))
	mux.HandleFunc("POST /push/subscribe", s.person(s.subscribe))
	mux.HandleFunc("POST /push/unsubscribe", s.person(s.unsubscribe))
	mux.HandleFunc("POST /push/test", s.person(s.testPush))
	mux.HandleFunc("/", s.person(func(w http.ResponseWriter, r *http.Request, by board.Viewer) {
		s.noPage(w, by)
	}))
	return s.guard(s.placed(mux))
}
