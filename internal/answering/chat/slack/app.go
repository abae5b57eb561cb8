package slack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Type is the responder type.
const Type = "slack"

// Options tunes an [App]. A bot token and either a signing secret (HTTP) or an
// app-level token (Socket Mode) are required.
type Options struct {
	chat.Options
	BotToken      string // xoxb-…
	AppToken      string // xapp-…: Socket Mode
	SigningSecret string // HTTP: verifies requests

	// Replicas is how many processes may share this token; default 1. Its limits are divided by it until
	// the living ones are counted.
	Replicas int
	// Connections is how many Socket Mode connections this process holds, so that one that Slack
	// closes leaves no gap; default 2.
	Connections int
	// EmailPrefix plus a member's e-mail address is a principal that the member may answer as, such
	// as "oidc:id.example.com#"; empty: none.
	EmailPrefix string
	// Strangers are ids of other workspaces whose members may answer in shared channels; default:
	// none.
	Strangers []string

	// NoLimits disables rate limits, for measurements with a fake Slack that has none.
	NoLimits bool

	APIURL string // default: Slack's
}

// Defaults of [Options].
const (
	defaultAPI = "https://slack.com/api/"
	ackAfter   = 2500 * time.Millisecond // when a request is acknowledged even if its answer is not stored yet
)

// App is the surface: it posts with [App.Serve] and receives with [App.Handler] or [App.Listen]. It
// is safe for concurrent use.
type App struct {
	*chat.Surface
	opts     Options
	api      *api
	people   *people
	sessions *chat.Sessions

	who       atomic.Pointer[Identity]
	places    *lru.Cache[string, message]  // direct messages, by user
	reminders *lru.Cache[string, string]   // scheduled messages, by card; "": removed
	seen      *lru.Cache[string, struct{}] // handled events
	sockets   socketState
	busy      chat.Busy // one entry per request in progress
	after     chat.Work
}

// maxBusy bounds how many clicks, replies and commands are handled at once.
const maxBusy = 256

// Check returns an error for a missing or invalid setting.
func (o *Options) Check() error {
	switch {
	case o.BotToken == "":
		return errors.New("slack: missing bot token: set ASKBUS_SLACK_BOT_TOKEN or ASKBUS_SLACK_BOT_TOKEN_FILE")
	case !strings.HasPrefix(o.BotToken, "xoxb-"):
		return errors.New("slack: the bot token must begin with xoxb-")
	case o.AppToken == "" && o.SigningSecret == "":
		return errors.New("slack: no transport for clicks: set ASKBUS_SLACK_APP_TOKEN (Socket Mode) or ASKBUS_SLACK_SIGNING_SECRET (HTTP)")
	case o.AppToken != "" && !strings.HasPrefix(o.AppToken, "xapp-"):
		return errors.New("slack: the app-level token must begin with xapp-")
	case o.Nowhere():
		return errors.New("slack: no channel to post to: set ASKBUS_SLACK_ROUTES or ASKBUS_SLACK_CHANNEL")
	}
	return nil
}

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	opts.APIURL, opts.Connections, opts.AckAfter = cmp.Or(opts.APIURL, defaultAPI), cmp.Or(max(opts.Connections, 0), 2), cmp.Or(opts.AckAfter, ackAfter)
	app, forms := &App{opts: opts}, ids()
	forms.Member = app.member
	surface, err := chat.NewSurface(Type, bus, opts.Options, forms)
	if err != nil {
		return nil, err
	}
	a := newAPI(&opts, surface.Clock)
	surface.FollowLookers(a.limiter)
	app.Surface, app.api, app.people, app.sessions, app.busy = surface, a, newPeople(a, surface.Clock.Now), chat.NewSessions(surface), make(chat.Busy, maxBusy)
	app.places, app.reminders, app.seen = chat.NewCache[string, message](5_000), chat.NewCache[string, string](5_000), chat.NewCache[string, struct{}](10_000)
	surface.Calls(app.Note, gone, hopeless)
	surface.ShownWhole(func(c *card.Card, rec *ask.Record) bool {
		a := app.drawing(c, rec, app.LinkTo(rec.Ask.Key()))
		a.Earlier = strings.Repeat("/", maxLink) // as long as it may be
		a.Mentions = app.Routes().Decide(&rec.Ask).Mention
		return !pendingCard(a).Cut
	})
	return app, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	return s.Surface.Serve(ctx, presenter{s}, s.api.limiter, s.opts.BotToken, opts)
}

// Drain waits for work that continues after its acknowledgement. No more deliveries may arrive.
func (s *App) Drain() { s.after.Wait() }

// Connect looks up the token's workspace. Without it every user is refused as a non-member.
func (s *App) Connect(ctx context.Context) (Identity, error) {
	var id Identity
	err := s.api.call(ctx, "auth.test", "", s.Now(), func(ctx context.Context) error {
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

// Keep calls Connect until it succeeds.
func (s *App) Keep(ctx context.Context) error {
	s.Retry(ctx, func(ctx context.Context) error { _, err := s.Connect(ctx); return err })
	return nil
}

func scopes(h http.Header) []string {
	return strings.FieldsFunc(h.Get("X-Oauth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
}

// Identity returns the workspace; the zero value before [App.Connect].
func (s *App) Identity() Identity {
	if id := s.who.Load(); id != nil {
		return *id
	}
	return Identity{}
}

// Ready returns why this process would not receive a click, or nil.
func (s *App) Ready() error {
	switch {
	case s.api.revoked.Load():
		return errors.New("slack does not accept the token any more: install the app again and take the new one")
	case s.who.Load() == nil:
		return errors.New("slack has not accepted the token yet")
	case s.opts.AppToken != "" && s.sockets.alive() == 0:
		return errors.New("no Socket Mode connection answers pings")
	}
	return nil
}
