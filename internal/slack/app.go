package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Type is the responder type.
const Type = "slack"

// Options tunes an [App]. A bot token and either a signing secret (HTTP) or an
// app-level token (Socket Mode) are required.
type Options struct {
	BotToken      string // xoxb-…
	AppToken      string // xapp-…: Socket Mode
	SigningSecret string // HTTP: requests are checked with it

	RouteFile string // who is asked, where; read again when it changes
	Routes    Routes // without a file

	// Replicas is how many processes share this token's limits; default 1.
	Replicas int
	// Connections is how many Socket Mode connections this process holds, so that
	// one that Slack ends leaves no hole; default 2.
	Connections int
	// EmailPrefix lets a member answer as the principal made of it and their
	// e-mail address, such as "oidc:"; empty: never.
	EmailPrefix string
	// Strangers are ids of other workspaces whose members may answer in shared
	// channels; default: none.
	Strangers []string
	// Link says where an ask can be answered in a browser; nil: nowhere.
	Link func(ask.Key) string
	// AckAfter is when a request is acknowledged although its answer is not
	// stored yet; default 2.5 s.
	AckAfter time.Duration

	// NoLimits lets every call go at once, for measurements beside a fake Slack
	// that has no limits either.
	NoLimits bool

	APIURL string          // default: Slack's
	Clock  responder.Clock // default: the real time
	Logger *slog.Logger    // default: discard
}

// Defaults of [Options].
const (
	defaultAPI = "https://slack.com/api/"
	ackAfter   = 2500 * time.Millisecond
)

// App is the surface: it posts by [App.Serve] and hears people by
// [App.Handler] or [App.Listen]. It is safe for concurrent use.
type App struct {
	opts   Options
	log    *slog.Logger
	bus    *responder.Responder
	api    *api
	people *people
	router *router

	server  atomic.Pointer[responder.Server]
	who     atomic.Pointer[Identity]
	threads *lru[string, string]   // where the thread of a session begins, by channel and session
	places  *lru[string, message]  // where a direct message is, by person
	clicked *lru[string, struct{}] // posts that somebody has just clicked: they are edited first
	seen    *lru[string, struct{}] // events that were handled
	sockets socketState
	busy    chan struct{} // holds one for each request under way
	after   sync.WaitGroup
}

// maxBusy is how many clicks, replies and commands are under way at once.
const maxBusy = 256

// Check says which setting is missing or wrong.
func (o *Options) Check() error {
	switch {
	case o.BotToken == "":
		return errors.New("slack: no bot token: set ASKBUS_SLACK_BOT_TOKEN or ASKBUS_SLACK_BOT_TOKEN_FILE")
	case !strings.HasPrefix(o.BotToken, "xoxb-"):
		return errors.New("slack: the bot token must begin with xoxb-")
	case o.AppToken == "" && o.SigningSecret == "":
		return errors.New("slack: no way to hear clicks: set ASKBUS_SLACK_APP_TOKEN (Socket Mode) or ASKBUS_SLACK_SIGNING_SECRET (HTTP)")
	case o.AppToken != "" && !strings.HasPrefix(o.AppToken, "xapp-"):
		return errors.New("slack: the app-level token must begin with xapp-")
	case o.RouteFile == "" && o.Routes.Default.Channel == "" && o.Routes.Default.Person == "":
		return errors.New("slack: no place to post: set ASKBUS_SLACK_ROUTES or ASKBUS_SLACK_CHANNEL")
	}
	return nil
}

// New makes the surface. It starts nothing and calls nobody.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if opts.APIURL == "" {
		opts.APIURL = defaultAPI
	}
	if opts.Connections <= 0 {
		opts.Connections = 2
	}
	if opts.AckAfter <= 0 {
		opts.AckAfter = ackAfter
	}
	if opts.Clock == nil {
		opts.Clock = wallClock{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := newRouter(&opts)
	if err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	a := newAPI(&opts)
	return &App{
		opts: opts, log: opts.Logger, bus: bus, api: a, people: newPeople(a, opts.Clock.Now), router: r,
		threads: newLRU[string, string](20_000), places: newLRU[string, message](5_000), clicked: newLRU[string, struct{}](2_000),
		seen: newLRU[string, struct{}](10_000), busy: make(chan struct{}, maxBusy),
	}, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	opts.Link, opts.Clock = s.link(opts.Link), s.opts.Clock
	// The limits of Slack are kept here, by method: the kit's own would count
	// posts and edits as the same.
	opts.Every, opts.Burst = time.Millisecond, 1000
	opts.CallLimit = 10 * time.Minute
	srv, err := responder.NewServer(s.bus, presenter{s}, opts)
	if err != nil {
		return err
	}
	s.server.Store(srv)
	return srv.Run(ctx)
}

// Drain waits for what goes on after its request was acknowledged. Nothing may
// be delivered to the app any more.
func (s *App) Drain() { s.after.Wait() }

func (s *App) link(other func(ask.Key) string) func(ask.Key) string {
	if s.opts.Link != nil {
		return s.opts.Link
	}
	return other
}

func (s *App) linkTo(k ask.Key) string {
	if s.opts.Link == nil {
		return ""
	}
	return s.opts.Link(k)
}

// Connect learns which workspace the token belongs to. Without it nobody is a
// member, and everybody is refused.
func (s *App) Connect(ctx context.Context) (Identity, error) {
	var id Identity
	err := s.api.call(ctx, "auth.test", "", rank{Urgent: true, At: s.opts.Clock.Now()}, func(ctx context.Context) error {
		res, err := s.api.client.AuthTestContext(ctx)
		if err != nil {
			return err
		}
		id = Identity{Team: res.TeamID, Enterprise: res.EnterpriseID, BotUser: res.UserID, BotID: res.BotID, URL: res.URL, Scopes: scopes(res.Header)}
		return nil
	})
	if err != nil {
		return id, err
	}
	s.who.Store(&id)
	return id, nil
}

// Keep connects, and tries again until that has worked.
func (s *App) Keep(ctx context.Context) error {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		_, err := s.Connect(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // being told to stop is not an error
		}
		s.log.WarnContext(ctx, "slack does not know this token, or cannot be reached", slog.String("error", err.Error()))
		_ = s.opts.Clock.Sleep(ctx, wait) // it ends with ctx, and then the loop does
	}
}

func scopes(h http.Header) []string {
	var list []string
	for scope := range strings.SplitSeq(h.Get("X-Oauth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			list = append(list, scope)
		}
	}
	return list
}

// Identity is which workspace this is; the zero value before [App.Connect].
func (s *App) Identity() Identity {
	if id := s.who.Load(); id != nil {
		return *id
	}
	return Identity{}
}

// Ready says why this process would not hear a click, or nothing.
func (s *App) Ready() error {
	switch {
	case s.who.Load() == nil:
		return errors.New("slack has not accepted the token yet")
	case s.opts.AppToken != "" && s.sockets.alive() == 0:
		return errors.New("no Socket Mode connection answers pings")
	}
	return nil
}

func (s *App) routes(ctx context.Context) *Routes {
	r, err := s.router.current(time.Now())
	if err != nil {
		s.log.ErrorContext(ctx, "the routing file is wrong; the routes before it hold on", slog.String("error", err.Error()))
	}
	return r
}

// background goes on with something after its request was acknowledged.
func (s *App) background(ctx context.Context, f func(context.Context)) {
	s.after.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		f(ctx)
	})
}
