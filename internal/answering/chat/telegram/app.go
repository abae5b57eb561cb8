// Package telegram is the surface in Telegram: a message with buttons for each ask, over the Bot API.
//
// It receives what people do by long polling, and confirms an update after it was handled, or as calls of Telegram. A bot can
// neither search for its messages nor give them a key, so a message gets its buttons when the bus knows
// where it is ([responder.Opener]). Texts carry no markup, only entities: nothing that an agent writes
// is a link, a mention or a command of ours.
package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Type is the responder type.
const Type = "telegram"

// Options tunes an [App]. A token is required, and a chat to post to.
type Options struct {
	chat.Options
	Token  string // of the bot, from @BotFather
	APIURL string // default: Telegram's
	// WebhookURL is the address at which Telegram reaches [App.Handler]; any number of replicas. Empty: one replica polls.
	WebhookURL string
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
	case o.WebhookURL != "" && checkWebhook(o.WebhookURL) != nil:
		return checkWebhook(o.WebhookURL)
	case o.Nowhere():
		return errors.New("telegram: no chat to post to: set ASKBUS_TELEGRAM_ROUTES or ASKBUS_TELEGRAM_CHAT")
	}
	return nil
}

// ParseRoutes parses routes from YAML or JSON. Its error lists every fault with its position.
func ParseRoutes(data []byte) (*chat.Routes, error) { return chat.ParseRoutes(data, ids()) }

// ids returns the forms of ids in routes. A channel is the id of a chat, with a topic after a slash ("-1001234/7"); a
// person is the id of a user who has begun a chat with the bot; a group is a chat whose members are in it.
func ids() chat.IDs {
	const id, user = `^-?[0-9]{1,19}$`, `^[0-9]{1,19}$`
	return chat.IDs{
		Channel: `^-?[0-9]{1,19}(/[0-9]{1,18})?$`, Person: user, Group: id, Mention: user, Threads: []string{chat.ThreadsTopic},
		Member: func(principal string) (string, bool) { return strings.CutPrefix(principal, Type+":") },
	}
}

// App is the surface: it posts with [App.Serve] and receives with [App.Listen]. It is safe for
// concurrent use.
type App struct {
	*chat.Stepwise
	api    *api
	topics *topics
	people *chat.People[struct{}]
	me     atomic.Pointer[models.User]
	polled atomic.Pointer[error] // how the last poll, or look at the webhook, went; nil: there was none yet

	webhook, secret string                      // where Telegram calls, if it does, and what it proves itself with
	seen            *lru.Cache[int64, struct{}] // handled updates
	ending          atomic.Int32                // outcomes that are being edited in
}

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	surface, err := chat.NewSurface(Type, bus, opts.Options, ids())
	if err != nil {
		return nil, err
	}
	a, err := newAPI(opts.Token, cmp.Or(opts.APIURL, defaultAPI), surface.Clock)
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	s := &App{
		api: a, webhook: opts.WebhookURL, secret: secret(opts.Token), seen: chat.NewCache[int64, struct{}](10_000),
		people: chat.NewPeople(surface.Clock.Now, func(context.Context, string) (struct{}, error) { return struct{}{}, nil }, a.member),
	}
	s.Stepwise = chat.NewStepwise(surface, presenter{s})
	s.topics = newTopics(s)
	s.Calls(s.Note, gone, hopeless)
	s.ShownWhole(s.shows)
	return s, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends. It begins when the bot's name is known, which messages
// carry.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	if s.me.Load() == nil {
		s.Retry(ctx, func(ctx context.Context) error { _, err := s.Connect(ctx); return err })
	}
	return s.Surface.Serve(ctx, presenter{s}, s.api.limiter, s.api.account, opts)
}

var errRevoked = errors.New("the token is not known to Telegram: it was revoked or is mistyped; copy it again from @BotFather")

// Connect looks up the bot of the token.
func (s *App) Connect(ctx context.Context) (name string, err error) {
	me, err := s.api.bot.GetMe(ctx)
	if errors.Is(err, bot.ErrorUnauthorized) {
		return "", errRevoked
	}
	if err != nil {
		return "", s.api.plain(err)
	}
	s.me.Store(me)
	return "@" + me.Username, nil
}

// Ready returns why this process would not receive a click, or nil.
func (s *App) Ready() error {
	switch err := s.polled.Load(); {
	case err == nil:
		return errors.New("telegram has not accepted the token yet")
	case *err != nil:
		return fmt.Errorf("updates do not arrive: %w", *err)
	}
	return nil
}

// Bounds of polling.
const (
	pollFor = 25 * time.Second
	// A poll that brings nothing takes at least so long.
	pollAtLeast = time.Second
	handleFor   = 15 * time.Second // one update
	endFor      = 10 * time.Second // the end of a query, after that

	// While another process polls this token: how long this one waits, which doubles each time, and when it starts over.
	rivalWait   = 30 * time.Second
	rivalMost   = 10 * time.Minute
	rivalForgot = time.Hour
)

// Listen polls for what people do, until ctx ends, in one replica at a time: Telegram takes one poller. The others stand
// by. The next poll confirms the updates of the last one, so that those of a process that died are delivered again.
func (s *App) Listen(ctx context.Context) error {
	s.Retry(ctx, func(ctx context.Context) error {
		_, err := s.Connect(ctx)
		s.polled.Store(&err)
		return err
	})
	s.Bus.Alone(ctx, s.api.account, s.poll)
	return nil
}

func (s *App) poll(ctx context.Context) {
	offset, rival, met := int64(0), rivalWait, time.Time{}
	for ctx.Err() == nil {
		began := time.Now()
		var updates []*models.Update
		s.Retry(ctx, func(ctx context.Context) (err error) {
			updates, err = s.api.updates(ctx, offset, pollFor)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it ends
			}
			why := err
			s.polled.Store(&why)
			if errors.Is(err, errRival) { // fighting would only divide the updates between the two
				if now := s.Clock.Now(); now.Sub(met) > rivalForgot {
					rival, met = rivalWait, now
				} else {
					rival, met = min(2*rival, rivalMost), now
				}
				err = &responder.RetryError{After: rival, Err: err}
			}
			return err
		})
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
		if pause := pollAtLeast - time.Since(began); len(updates) == 0 && pause > 0 { // a server that does not hold the poll
			_ = backoff.Sleep(ctx, pause) // fails only when ctx ends
		}
	}
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
