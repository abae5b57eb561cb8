// Package discord is the surface in Discord: a card with buttons for each ask, and forms for what buttons cannot answer.
//
// What people do arrives over the gateway, or over HTTP with a signature; both are handled the same way. A button
// carries the key of its ask's post, so any replica handles it, also after a restart. Posts carry a nonce of their ask
// ([responder.Post]), which Discord enforces for some minutes, and are searched for by that key afterwards. Of
// messages the surface hears only "link" in private: only buttons and forms answer. Nothing that an agent writes is a mention or hides an
// address.
package discord

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
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
const Type = "discord"

// Options tunes an [App]. A token is required, and a channel to post to.
type Options struct {
	chat.Options
	Token string // of the bot
	// PublicKey is the application's, in hex: what people do then arrives at [App.Handler]. Default: over the gateway.
	PublicKey string
	APIURL    string // default: Discord's
}

const (
	defaultAPI = "https://discord.com/api/v10"
	ackAfter   = 1800 * time.Millisecond // it gives up after 3 s
)

// Check returns an error for a missing or invalid setting.
func (o *Options) Check() error {
	switch key, err := hex.DecodeString(o.PublicKey); {
	case o.Token == "":
		return errors.New("discord: missing token: set ASKBUS_DISCORD_TOKEN or ASKBUS_DISCORD_TOKEN_FILE to the bot's token, from the page Bot of the application")
	case strings.ContainsAny(o.Token, " \t\r\n"):
		return errors.New("discord: ASKBUS_DISCORD_TOKEN contains a space: give the token alone, without “Bot”")
	case err != nil, len(key) != 0 && len(key) != ed25519.PublicKeySize:
		return errors.New("discord: ASKBUS_DISCORD_PUBLIC_KEY must be the 64 hexadecimal digits on the page General Information of the application")
	case o.Nowhere():
		return errors.New("discord: no channel to post to: set ASKBUS_DISCORD_ROUTES or ASKBUS_DISCORD_CHANNEL")
	}
	return nil
}

// rolePrefix begins the id of a role in a routing file, where it could be that of a user.
const rolePrefix = "role/"

// ids returns the forms of ids in routes: snowflakes.
func ids() chat.IDs {
	const id = `[0-9]{15,20}$`
	return chat.IDs{
		Channel: "^" + id, Person: "^" + id, Group: "^" + rolePrefix + id, Mention: "^(" + rolePrefix + ")?" + id,
		Member: func(principal string) (string, bool) { return strings.CutPrefix(principal, Type+":") },
	}
}

// ParseRoutes parses routes from YAML or JSON. Its error lists every fault with its position.
func ParseRoutes(data []byte) (*chat.Routes, error) { return chat.ParseRoutes(data, ids()) }

// App is the surface: it posts with [App.Serve], and receives with [App.Listen] or [App.Handler]. It is safe for
// concurrent use.
type App struct {
	*chat.Surface
	api  *api
	opts Options
	key  ed25519.PublicKey // empty: over the gateway

	me      atomic.Pointer[application] // nil: the token is not accepted
	live    atomic.Bool                 // the gateway has a session
	rooms   *lru.Cache[string, room]    // by channel
	direct  *lru.Cache[string, string]  // channels of direct messages, by user
	unsent  *lru.Cache[string, values]  // what a person wrote in a form that was refused, by post and user
	handled *lru.Cache[string, struct{}]
	busy    chat.Busy // one entry for each interaction in progress
	after   sync.WaitGroup
}

// maxBusy bounds the interactions that are handled at once.
const maxBusy = 256

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	surface, err := chat.NewSurface(Type, bus, opts.Options, ids())
	if err != nil {
		return nil, err
	}
	opts.AckAfter = cmp.Or(opts.AckAfter, ackAfter)
	key, _ := hex.DecodeString(opts.PublicKey) // checked
	s := &App{
		Surface: surface, opts: opts, key: key, rooms: chat.NewCache[string, room](5_000), direct: chat.NewCache[string, string](5_000),
		unsent: chat.NewCache[string, values](1_000), handled: chat.NewCache[string, struct{}](10_000), busy: make(chat.Busy, maxBusy),
	}
	s.api = newAPI(opts.Token, cmp.Or(opts.APIURL, defaultAPI), surface.Clock, func() { s.me.Store(nil) })
	s.Calls(s.Note, gone, hopeless)
	s.ShownWhole(func(c *card.Card, rec *ask.Record) bool {
		d := s.drawing(c, rec, s.LinkTo(rec.Ask.Key()), s.Routes().Decide(&rec.Ask).Target)
		d.message()
		return !d.cut
	})
	return s, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	return s.Surface.Serve(ctx, presenter{s}, s.api.limiter, s.opts.Token, opts)
}

// application is what the token belongs to.
type application struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Key      string `json:"verify_key"`
	Endpoint string `json:"interactions_endpoint_url"`
	Bot      user   `json:"bot"`
}

// Connect looks up the application of the token.
func (s *App) Connect(ctx context.Context) (name string, err error) {
	var me application
	if err := s.api.call(ctx, call{Method: "GET", Class: "application", Path: "/applications/@me", Rank: s.Now(), Into: &me}); err != nil {
		return "", err
	}
	s.me.Store(&me)
	return cmp.Or(me.Bot.Username, me.Name), nil
}

// Ready returns why this process would not receive a click, or nil.
func (s *App) Ready() error {
	switch {
	case s.me.Load() == nil:
		return errors.New("discord does not accept the token")
	case len(s.key) == 0 && !s.live.Load():
		return errors.New("the connection to Discord's gateway is down")
	}
	return nil
}

// Bounds of receiving.
const (
	handleFor  = 45 * time.Second // one interaction
	checkEvery = time.Minute      // of the token, where no connection tells that it was revoked
)

// Listen receives what people do over the gateway until ctx ends. With a public key it only keeps checking the token.
func (s *App) Listen(ctx context.Context) error {
	defer s.after.Wait()
	for first := true; ctx.Err() == nil; first = false {
		s.Retry(ctx, func(ctx context.Context) error {
			if _, err := s.Connect(ctx); err != nil {
				return fmt.Errorf("discord: %w", err)
			}
			return nil
		})
		if first {
			s.offer(ctx)
		}
		if len(s.key) > 0 {
			_ = backoff.Sleep(ctx, checkEvery) // fails only when ctx ends
			continue
		}
		s.receive(ctx, intentDirect, s.dispatched)
	}
	return nil
}
