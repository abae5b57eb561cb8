// Package feishu is the surface in Feishu and in Lark: an interactive card (JSON 2.0) for each ask.
//
// It receives what people do over Feishu's long connection, which needs no public address, or as webhooks;
// either serves any number of replicas. Messages cannot be searched for a key of ours, and a uuid makes a post
// unique for an hour only, so a card gets its buttons when the bus knows where it is ([responder.Opener]).
// Nothing that an agent writes is a mention, a link or markup of ours.
package feishu

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Type is the responder type.
const Type = "feishu"

// Options tunes an [App]. App id and secret are required, and a place to post to.
type Options struct {
	chat.Options
	AppID, AppSecret string
	// Domain is DomainFeishu (the default), DomainLark, or the address of a private installation's API.
	Domain string
	// EncryptKey and VerificationToken, which belong together, are those of the app's webhooks: [App.Handler]
	// then receives, and there is no long connection.
	EncryptKey, VerificationToken string
}

// The domains of the two services.
const (
	DomainFeishu = "feishu.cn"
	DomainLark   = "larksuite.com"
)

var (
	appForm    = regexp.MustCompile(`^cli_[0-9a-zA-Z]+$`)
	originForm = regexp.MustCompile(`^(https://[^/?#\s]+|http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?)$`)
)

// Check returns an error for a missing or invalid setting.
func (o *Options) Check() error {
	switch {
	case o.AppID == "":
		return errors.New("feishu: missing app id: set ASKBUS_FEISHU_APP_ID to the App ID on the page of the app's credentials")
	case !appForm.MatchString(o.AppID):
		return errors.New("feishu: ASKBUS_FEISHU_APP_ID must look like cli_a1b2c3d4e5f60718, as the page of the app's credentials shows it")
	case o.AppSecret == "":
		return errors.New("feishu: missing app secret: set ASKBUS_FEISHU_APP_SECRET or ASKBUS_FEISHU_APP_SECRET_FILE to the App Secret on the page of the app's credentials")
	case o.Domain != "" && o.Domain != DomainFeishu && o.Domain != DomainLark && !originForm.MatchString(o.Domain):
		return errors.New("feishu: ASKBUS_FEISHU_DOMAIN must be feishu.cn, larksuite.com, or the https address of an installation of your own, without a path")
	case (o.EncryptKey == "") != (o.VerificationToken == ""):
		return errors.New("feishu: for webhooks set both ASKBUS_FEISHU_ENCRYPT_KEY and ASKBUS_FEISHU_VERIFICATION_TOKEN, from the app's page of events and callbacks; for the long connection neither")
	case o.Nowhere():
		return errors.New("feishu: no chat to post to: set ASKBUS_FEISHU_ROUTES or ASKBUS_FEISHU_CHAT")
	}
	return nil
}

// Webhooks reports whether the app receives webhooks instead of holding a long connection.
func (o *Options) Webhooks() bool { return o.EncryptKey != "" }

// ids returns the forms of ids in routes. A channel is a chat (oc_…); a person is a user's open_id (ou_…) or union_id
// (on_…); a group is a chat whose members are in it.
func ids() chat.IDs {
	const chats, user = `^oc_[A-Za-z0-9]{1,64}$`, `^o[un]_[A-Za-z0-9]{1,64}$`
	return chat.IDs{
		Channel: chats, Person: user, Group: chats, Mention: user,
		Member: func(principal string) (string, bool) {
			of, ok := strings.CutPrefix(principal, Type+":")
			_, union, _ := strings.Cut(of, "/")
			return union, ok && union != ""
		},
	}
}

// ParseRoutes parses routes from YAML or JSON. Its error lists every fault with its position.
func ParseRoutes(data []byte) (*chat.Routes, error) { return chat.ParseRoutes(data, ids()) }

// App is the surface: it posts with [App.Serve], and receives with [App.Listen] or [App.Handler]. It is safe for
// concurrent use.
type App struct {
	*chat.Surface
	opts      Options
	api       *api
	people    *chat.People[string]          // names of users ("chat/union id"), members of chats
	bot       atomic.Pointer[bot]           // once its token was accepted
	connected atomic.Bool                   // the long connection
	seen      *lru.Cache[string, *handling] // by the id of the event
	asks      *lru.Cache[string, string]    // keys of posts by message
	busy      chat.Busy                     // bounds the events that are handled at once
	work      sync.WaitGroup
}

// bot is the app's bot.
type bot struct {
	Name   string `json:"app_name"`
	OpenID string `json:"open_id"`
}

// chinese is the language of cards in Feishu.
const chinese = "zh"

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	opts.Domain, opts.AckAfter = cmp.Or(opts.Domain, DomainFeishu), cmp.Or(opts.AckAfter, ackAfter)
	surface, err := chat.NewSurface(Type, bus, opts.Options, ids())
	if err != nil {
		return nil, err
	}
	if opts.Domain != DomainLark { // cards are in Chinese where no route says otherwise
		given := surface.Routes
		surface.Routes = func() *chat.Routes {
			r := *given()
			r.Default.Language = cmp.Or(r.Default.Language, chinese)
			return &r
		}
	}
	s := &App{
		Surface: surface, opts: opts, api: newAPI(&opts, surface.Clock), busy: make(chat.Busy, 64),
		seen: chat.NewCache[string, *handling](10_000), asks: chat.NewCache[string, string](20_000),
	}
	s.people = chat.NewPeople(surface.Clock.Now, s.api.name, s.api.members)
	s.Calls(s.Note, gone, hopeless)
	s.ShownWhole(func(c *card.Card, rec *ask.Record) bool {
		d := s.drawing(c, rec, s.LinkTo(rec.Ask.Key()))
		d.content()
		return !d.cut
	})
	return s, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	defer s.work.Wait()
	return s.Surface.Serve(ctx, presenter{s}, s.api.limiter, s.opts.AppID, opts)
}

// Connect checks the app's credentials and looks up its bot.
func (s *App) Connect(ctx context.Context) (name string, err error) {
	var found struct {
		Bot bot `json:"bot"`
	}
	if err := s.api.call(ctx, s.Now(), request{method: http.MethodGet, path: "/open-apis/bot/v3/info", class: classRead}, &found); err != nil {
		return "", err
	}
	s.bot.Store(&found.Bot)
	return found.Bot.Name, nil
}

// Ready returns why this process would not receive a click, or nil.
func (s *App) Ready() error {
	switch {
	case s.api.refused.Load():
		return errors.New("feishu refuses the app's id and secret")
	case s.bot.Load() == nil:
		return errors.New("feishu has not accepted the app's id and secret yet")
	case !s.opts.Webhooks() && !s.connected.Load():
		return errors.New("the long connection to feishu is down")
	}
	return nil
}

// checkEvery is how often the credentials are checked where no long connection shows that they work.
const checkEvery = 2 * time.Minute

// Listen receives over the long connection until ctx ends. With webhooks it only watches whether the app's credentials
// still work.
func (s *App) Listen(ctx context.Context) error {
	defer s.work.Wait()
	for ctx.Err() == nil {
		s.Retry(ctx, func(ctx context.Context) error { _, err := s.Connect(ctx); return err })
		if s.opts.Webhooks() {
			_ = backoff.Sleep(ctx, checkEvery) // fails only when ctx ends
		} else {
			s.stayConnected(ctx)
		}
	}
	return nil
}
