package teams

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Type is the responder type.
const Type = "teams"

// Options tunes an [App]. The app's id and secret, its directory and a place to post to are required.
type Options struct {
	chat.Options
	AppID     string // of the app's registration
	Directory string // id of its directory (tenant), whose members may answer
	Secret    string
	// Guests are object ids of guests of the directory who may answer; default: none.
	Guests []string

	ServiceURL string // of the connector, for conversations that Teams has not named yet; default: the public cloud's
	LoginURL   string // default: the public cloud's
	KeysURL    string // of the OpenID metadata of the connector's signing keys; default: the public cloud's
}

// Defaults of [Options].
const (
	defaultService  = "https://smba.trafficmanager.net/teams"
	defaultLogin    = "https://login.microsoftonline.com"
	defaultMetadata = "https://login.botframework.com/v1/.well-known/openidconfiguration"
	ackAfter        = 8 * time.Second // when a press is acknowledged even if its answer is not stored yet
)

const guid = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`

var guidForm = regexp.MustCompile(`^` + guid + `$`)

// Check returns an error for a missing or invalid setting.
func (o *Options) Check() error {
	switch {
	case !guidForm.MatchString(o.AppID):
		return errors.New("teams: the app id must be that of the app's registration, such as 1f3a…-…: set ASKBUS_TEAMS_APP_ID")
	case !guidForm.MatchString(o.Directory):
		return errors.New("teams: the directory must be the id of a tenant, such as 9c2b…-…: set ASKBUS_TEAMS_DIRECTORY")
	case o.Secret == "":
		return errors.New("teams: missing client secret: set ASKBUS_TEAMS_SECRET or ASKBUS_TEAMS_SECRET_FILE")
	case o.Nowhere():
		return errors.New("teams: no place to post to: set ASKBUS_TEAMS_ROUTES or ASKBUS_TEAMS_CHANNEL")
	}
	for _, id := range o.Guests {
		if !guidForm.MatchString(id) {
			return errors.New("teams: a guest must be the object id of a person: correct ASKBUS_TEAMS_GUESTS")
		}
	}
	return nil
}

// ids returns the forms of ids in routes. A channel is a channel of a team, a group chat, or the app's chat
// with a person, as pairing found it; a person is the object id of
// somebody who has added the app; a group is a team, a channel or a chat whose members are in it.
func ids(tenant string) chat.IDs {
	const conversation = `^19:[A-Za-z0-9_-]{1,120}@(thread\.tacv2|thread\.skype|thread\.v2|unq\.gbl\.spaces)$`
	return chat.IDs{
		Channel: conversation + `|^a:[A-Za-z0-9_-]{1,200}$`, Person: `^` + guid + `$`, Group: conversation, Mention: `^` + guid + `$`,
		Member: func(principal string) (string, bool) { return strings.CutPrefix(principal, Type+":"+tenant+"/") },
	}
}

// ParseRoutes parses a routing file.
func ParseRoutes(data []byte) (*chat.Routes, error) { return chat.ParseRoutes(data, ids("")) }

// isChannel reports whether an id is that of a team's channel.
func isChannel(id string) bool {
	return strings.HasSuffix(id, "@thread.tacv2") || strings.HasSuffix(id, "@thread.skype")
}

// App is the surface: it posts with [App.Serve] and receives with [App.Handler]. It is safe for concurrent use.
type App struct {
	*chat.Surface
	opts   Options
	api    *api
	from   *connector
	refs   *references
	people *chat.People[member]
	busy   chat.Busy // one entry for each request in progress
	after  chat.Work
}

// Bounds.
const (
	maxBusy   = 256
	checkSpan = time.Minute // of the app's secret
)

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	opts.AppID, opts.Directory = strings.ToLower(opts.AppID), strings.ToLower(opts.Directory)
	opts.Guests = slices.Clone(opts.Guests)
	for i, id := range opts.Guests {
		opts.Guests[i] = strings.ToLower(id)
	}
	if err := opts.Check(); err != nil {
		return nil, err
	}
	opts.ServiceURL = strings.TrimRight(cmp.Or(opts.ServiceURL, defaultService), "/")
	opts.LoginURL = strings.TrimRight(cmp.Or(opts.LoginURL, defaultLogin), "/")
	opts.KeysURL, opts.AckAfter = cmp.Or(opts.KeysURL, defaultMetadata), cmp.Or(opts.AckAfter, ackAfter)
	surface, err := chat.NewSurface(Type, bus, opts.Options, ids(opts.Directory))
	if err != nil {
		return nil, err
	}
	a := newAPI(&opts, surface.Clock)
	s := &App{
		Surface: surface, opts: opts, api: a, busy: make(chat.Busy, maxBusy),
		from: &connector{http: a.http, metadata: opts.KeysURL, app: opts.AppID, now: surface.Clock.Now},
		refs: &references{typ: surface.Type, cache: chat.NewCache[string, reference](10_000), now: surface.Clock.Now, log: surface.Log},
	}
	if bus != nil {
		s.refs.bucket = state.Open(bus.Conn(), state.Responder(s.Type, bus.Tenant()), state.Conversations)
	}
	s.people = chat.NewPeople(surface.Clock.Now, s.look, s.inGroup)
	s.Calls(s.Note, gone, hopeless)
	s.ShownWhole(func(c *card.Card, rec *ask.Record) bool {
		d := drawing{Card: c, ref: refOf(rec.Ask.Key(), rec.Life), link: s.LinkTo(rec.Ask.Key())}
		d.sheet()
		return c.Withheld == ""
	})
	return s, nil
}

// Serve posts asks and edits them to their outcomes until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	return s.Surface.Serve(ctx, presenter{s}, s.api.limiter, s.opts.AppID, opts)
}

// Connect checks the app's secret.
func (s *App) Connect(ctx context.Context) (name string, err error) {
	if _, err = s.api.token(ctx); err != nil {
		return "", err
	}
	s.api.accepted(nil)
	return s.opts.AppID, nil
}

// Keep checks the app's secret now and again until ctx ends, so that [App.Ready] knows.
func (s *App) Keep(ctx context.Context) error {
	for ctx.Err() == nil {
		s.Retry(ctx, func(ctx context.Context) error { _, err := s.Connect(ctx); return err })
		_ = backoff.Sleep(ctx, checkSpan) // fails only when ctx ends
	}
	return nil
}

// Ready returns why this process could not post, or nil.
func (s *App) Ready() error { return s.api.ready() }

// Drain waits for work that continues after its acknowledgement. No more deliveries may arrive.
func (s *App) Drain() { s.after.Wait() }

// look looks up "service conversation id": a person where they acted.
func (s *App) look(ctx context.Context, of string) (member, error) {
	at, ok := parsePlace(of)
	if !ok {
		return member{}, errors.New("no person")
	}
	return s.api.member(ctx, place{Service: at.Service, Conversation: at.Conversation}, at.Activity)
}

// inGroup returns the person of "service conversation id" if they are in the conversation.
func (s *App) inGroup(ctx context.Context, of string) ([]string, error) {
	at, _ := parsePlace(of)
	m, err := s.look(ctx, of)
	switch {
	case refusedFor(err, http.StatusNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case strings.EqualFold(m.Object, at.Activity):
		return []string{at.Activity}, nil
	}
	return nil, nil
}
