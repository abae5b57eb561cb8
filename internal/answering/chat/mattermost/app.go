package mattermost

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Type is the responder type.
const Type = "mattermost"

// Options tunes an [App]. The server, the token of a bot, the address of this process and a place to post to are
// required.
type Options struct {
	chat.Options
	URL      string // of the server, as its people open it: its host is part of their principals
	Token    string // of the bot
	Callback string // address at which the server reaches this process
	// Guests are ids of guests of the server who may answer; default: none.
	Guests []string
}

const (
	ackAfter = 10 * time.Second // a server gives up after 30 s, unless it is set to another time
	id       = `^[a-z0-9]{26}$`
)

var idForm = regexp.MustCompile(id)

// Check returns an error for a missing or invalid setting.
func (o *Options) Check() error {
	switch {
	case !reachable(o.URL):
		return errors.New("mattermost: set ASKBUS_MATTERMOST_URL to the http or https address of the server")
	case !reachable(o.Callback):
		return errors.New("mattermost: set ASKBUS_MATTERMOST_CALLBACK to the http or https address at which the server reaches this process")
	case o.Token == "":
		return errors.New("mattermost: missing token: set ASKBUS_MATTERMOST_TOKEN or ASKBUS_MATTERMOST_TOKEN_FILE to that of the bot")
	case o.Nowhere():
		return errors.New("mattermost: no channel to post to: set ASKBUS_MATTERMOST_ROUTES or ASKBUS_MATTERMOST_CHANNEL")
	case slices.ContainsFunc(o.Guests, func(g string) bool { return !idForm.MatchString(g) }):
		return errors.New("mattermost: a guest must be the id of a user, 26 letters and digits: correct ASKBUS_MATTERMOST_GUESTS")
	}
	return nil
}

func reachable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// ids returns the forms of ids in routes. A group is a channel whose members are in it.
func ids(server string) chat.IDs {
	return chat.IDs{
		Channel: id, Person: id, Group: id, Mention: id,
		Member: func(principal string) (string, bool) { return strings.CutPrefix(principal, Type+":"+server+"/") },
	}
}

// ParseRoutes parses a routing file.
func ParseRoutes(data []byte) (*chat.Routes, error) { return chat.ParseRoutes(data, ids("")) }

// App is the surface: it posts with [App.Serve] and receives with [App.Handler]. It is safe for concurrent use.
type App struct {
	*chat.Stepwise
	opts   Options
	server string // host
	api    *api
	codes  codes
	people *chat.People[user]
	busy   chat.Busy // one entry for each request in progress
	after  chat.Work
}

// Bounds.
const (
	maxBusy   = 256
	checkSpan = time.Minute // of the token
)

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	address, err := url.Parse(opts.URL)
	if err != nil {
		return nil, err
	}
	opts.AckAfter = cmp.Or(opts.AckAfter, ackAfter)
	opts.URL, opts.Callback = strings.TrimRight(opts.URL, "/"), strings.TrimRight(opts.Callback, "/")
	server := strings.ToLower(address.Host)
	surface, err := chat.NewSurface(Type, bus, opts.Options, ids(server))
	if err != nil {
		return nil, err
	}
	a := newAPI(opts.URL, opts.Token, surface.Clock)
	s := &App{opts: opts, server: server, api: a, codes: newCodes(opts.Token), people: chat.NewPeople(surface.Clock.Now, a.user, a.member), busy: make(chat.Busy, maxBusy)}
	s.Stepwise = chat.NewStepwise(surface, presenter{s})
	s.Calls(s.Note, gone, hopeless)
	s.ShownWhole(func(c *card.Card, rec *ask.Record) bool {
		d, cut := drawing{Card: c, link: s.LinkTo(rec.Ask.Key()), spare: (len(c.Questions) - 1) * 300}, false
		for n := range c.Questions {
			d.text(card.Steps{Answers: make([]ask.Answer, n)})
			cut = cut || d.cut
		}
		return !cut
	})
	return s, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	return s.Surface.Serve(ctx, presenter{s}, s.api.limiter, s.server, opts)
}

// Connect looks up the bot of the token.
func (s *App) Connect(ctx context.Context) (name string, err error) {
	me, err := s.api.user(ctx, "me")
	if err != nil {
		return "", err
	}
	s.api.accepted(me, nil)
	return me.Username, nil
}

// Keep checks the token now and again until ctx ends, so that [App.Ready] knows, and hears what people write to the bot.
func (s *App) Keep(ctx context.Context) error {
	s.after.Go(func() { s.hear(ctx) })
	for ctx.Err() == nil {
		s.Retry(ctx, func(ctx context.Context) error { _, err := s.Connect(ctx); return err })
		_ = backoff.Sleep(ctx, checkSpan) // fails only when ctx ends
	}
	return nil
}

// Ready returns why this process could not post, or nil.
func (s *App) Ready() error {
	me, err := s.api.state()
	if err == nil && me.ID == "" {
		err = errors.New("the server has not accepted the token yet")
	}
	return err
}

// Drain waits for work that continues after its acknowledgement. No more calls may arrive.
func (s *App) Drain() { s.after.Wait() }

// Paths of the server's calls.
const (
	PathActions = "/mattermost/actions"
	PathDialogs = "/mattermost/dialogs"
)

// Handler serves the server's calls. It keeps no state between them: any replica serves any of them. It refuses a call
// without a code that this app made.
func (s *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathActions, s.receive(s.pressed))
	mux.HandleFunc("POST "+PathDialogs, s.receive(s.submitted))
	return mux
}
