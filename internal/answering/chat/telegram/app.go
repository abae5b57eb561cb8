// Package telegram is the surface in Telegram: a message with buttons for each ask, over the Bot API.
//
// It receives what people do by long polling, and confirms an update after it was handled. A bot can
// neither search for its messages nor give them a key, so a message gets its buttons when the bus knows
// where it is ([responder.Opener]). Texts carry no markup, only entities: nothing that an agent writes
// is a link, a mention or a command of ours.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/go-telegram/bot/models"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Type is the responder type.
const Type = "telegram"

// Proof is the proof of a person whom Telegram named ([ask.By.Proof]).
const Proof = ask.ProofTelegram

// Options tunes an [App]. A token is required, and a chat to post to.
type Options struct {
	Token string // of the bot, from @BotFather

	RouteFile string      // routing file; read again when it changes
	Routes    chat.Routes // used without a RouteFile

	// Link returns the URL at which an ask can be answered in a browser; nil: none.
	Link func(ask.Key) string

	APIURL string          // default: Telegram's
	Clock  responder.Clock // default: the system's
	Logger *slog.Logger    // default: discard
}

const defaultAPI = "https://api.telegram.org"

var tokenForm = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// Check returns an error for a missing or invalid setting.
func (o *Options) Check() error {
	switch {
	case o.Token == "":
		return errors.New("telegram: missing token: set ASKBUS_TELEGRAM_TOKEN or ASKBUS_TELEGRAM_TOKEN_FILE to what @BotFather gave you")
	case !tokenForm.MatchString(o.Token):
		return errors.New("telegram: the token must look like 123456:ABC-def, as @BotFather gave it")
	case o.RouteFile == "" && o.Routes.Default.Channel == "" && o.Routes.Default.Person == "":
		return errors.New("telegram: no chat to post to: set ASKBUS_TELEGRAM_ROUTES or ASKBUS_TELEGRAM_CHAT")
	}
	return nil
}

// ParseRoutes parses routes from YAML or JSON. A channel is the id of a chat, with a topic after a
// slash ("-1001234/7"); a person is the id of a user who has begun a chat with the bot; a group is a
// chat whose members are in it. Its error lists every fault with its position.
func ParseRoutes(data []byte) (*chat.Routes, error) {
	const id, user = `^-?[0-9]{1,19}$`, `^[0-9]{1,19}$`
	r, err := chat.ParseRoutes(data, chat.IDs{Channel: `^-?[0-9]{1,19}(/[0-9]{1,18})?$`, Person: user, Group: id, Mention: user})
	if err != nil {
		return nil, err
	}
	r.Member = member
	return r, nil
}

// member returns the user of a principal such as "telegram:1234".
func member(principal string) (string, bool) { return strings.CutPrefix(principal, Type+":") }

// App is the surface: it posts with [App.Serve] and receives with [App.Listen]. It is safe for
// concurrent use.
type App struct {
	opts   Options
	log    *slog.Logger
	bus    *responder.Responder
	api    *api
	people *chat.People[struct{}]
	routes func() *chat.Routes

	server  atomic.Pointer[responder.Server]
	me      atomic.Pointer[models.User]
	polls   atomic.Bool                    // the last poll worked
	clicked *lru.Cache[string, struct{}]   // places that were just clicked, which are edited first
	seen    *lru.Cache[int64, struct{}]    // handled updates
	drafts  *lru.Cache[string, chat.Draft] // the newest of each ask, by short id
}

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if opts.APIURL == "" {
		opts.APIURL = defaultAPI
	}
	if opts.Clock == nil {
		opts.Clock = responder.WallClock()
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Routes.Member = member
	routes, err := chat.OpenRoutes(opts.RouteFile, &opts.Routes, ParseRoutes, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	a, err := newAPI(&opts)
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	return &App{
		opts: opts, log: opts.Logger, bus: bus, api: a, routes: routes,
		people:  chat.NewPeople(opts.Clock.Now, func(context.Context, string) (struct{}, error) { return struct{}{}, nil }, a.member),
		clicked: chat.NewCache[string, struct{}](2_000),
		seen:    chat.NewCache[int64, struct{}](10_000), drafts: chat.NewCache[string, chat.Draft](2_000),
	}, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	if s.opts.Link != nil {
		opts.Link = s.opts.Link
	}
	opts.Clock, opts.Limiter, opts.CallLimit = s.opts.Clock, s.api.limiter, 10*time.Minute
	srv, err := responder.NewServer(s.bus, presenter{s}, opts)
	if err != nil {
		return err
	}
	s.server.Store(srv)
	return srv.Run(ctx)
}

// Connect looks up the bot of the token.
func (s *App) Connect(ctx context.Context) (name string, err error) {
	me, err := s.api.me(ctx)
	if err != nil {
		return "", err
	}
	s.me.Store(me)
	return me.Username, nil
}

// Ready returns why this process would not receive a click, or nil.
func (s *App) Ready() error {
	switch {
	case s.me.Load() == nil:
		return errors.New("telegram has not accepted the token yet")
	case !s.polls.Load():
		return errors.New("polling for updates fails; is another process using this token?")
	}
	return nil
}

// Bounds of polling.
const (
	pollFor   = 25 * time.Second
	handleFor = 15 * time.Second // one update
	rivalWait = 30 * time.Second // another process polls this token
)

// Listen polls for what people do, until ctx ends. The next poll confirms the updates of the last one,
// so that those of a process that died are delivered again.
func (s *App) Listen(ctx context.Context) error {
	offset, wait := int64(0), time.Second
	for ctx.Err() == nil {
		var err error
		if s.me.Load() == nil {
			_, err = s.Connect(ctx)
		}
		var updates []*models.Update
		if err == nil {
			updates, err = s.api.updates(ctx, offset, pollFor)
		}
		if ctx.Err() != nil {
			break
		}
		s.polls.Store(err == nil)
		if err != nil {
			pause := wait
			wait = min(2*wait, time.Minute)
			if rival(err) {
				pause = rivalWait
			}
			s.log.WarnContext(ctx, "cannot poll Telegram", slog.String("error", err.Error()), slog.Duration("again_in", pause))
			_ = backoff.Sleep(ctx, pause) // fails only when ctx ends, which ends the loop
			continue
		}
		wait = time.Second
		var all sync.WaitGroup
		for _, u := range updates {
			offset = max(offset, u.ID+1)
			all.Go(func() {
				within, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
				defer cancel()
				s.happened(within, u)
			})
		}
		all.Wait()
	}
	return nil //nolint:nilerr // stopped
}

// happened handles an update, once.
func (s *App) happened(ctx context.Context, u *models.Update) {
	if again, _ := s.seen.ContainsOrAdd(u.ID, struct{}{}); again {
		return
	}
	switch {
	case u.CallbackQuery != nil:
		s.pressed(ctx, u.CallbackQuery)
	case u.Message != nil && u.Message.From != nil && u.Message.Text != "":
		s.wrote(ctx, u.Message)
	}
}

// language returns the language of an ask's message: that of its route, else English.
func (s *App) language(a *ask.Ask) *lang.Language { return lang.Of(s.routes().Decide(a).Language) }

// speaks returns the language of a person's Telegram, else that of the default route.
func (s *App) speaks(u *models.User) *lang.Language {
	if u.LanguageCode != "" {
		return lang.Of(u.LanguageCode)
	}
	return lang.Of(s.routes().Default.Language)
}
