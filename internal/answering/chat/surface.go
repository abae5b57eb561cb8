package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Options are what every chat is told. A place to post to is required.
type Options struct {
	RouteFile string // routing file; read again when it changes
	Routes    Routes // used without a RouteFile

	// Digest is when the weekly digest is posted, such as "mon 09:00 Europe/Berlin"; empty: never. DigestPlace is the id of
	// the channel or the person; empty: the default of the routes.
	Digest, DigestPlace string

	Unplaced bool // it is only asked who its token is for, and paired: it needs no place yet

	// Link returns the URL at which an ask can be answered in a browser; nil: none.
	Link func(ask.Key) string

	// Inbox is the URL of the inbox, for what is about no ask; empty: people find it themselves.
	Inbox string

	// Refused is called for each refused request and answer that no broker sees, without waiting; nil: not called.
	Refused func(Refusal)

	// AckAfter is when the platform is told that something takes longer than it waits, and Ping how often a connection that
	// is held is tried out; default: what suits the chat.
	AckAfter, Ping time.Duration

	Clock  responder.Clock // default: the system's
	Logger *slog.Logger    // default: discard
}

// Refusal is a request or an answer that the surface refused.
type Refusal struct {
	What    string // "POST /slack/interactions", "answer", "decline"
	Code    string
	Why     string
	Address string  // of the sender of an unverified request
	By      ask.By  // the person whom the platform named; zero: nobody is verified
	Ask     ask.Key // zero: none
}

// Nowhere reports whether no place to post to is given.
func (o *Options) Nowhere() bool {
	return !o.Unplaced && o.RouteFile == "" && o.Routes.Default.Channel == "" && o.Routes.Default.Person == ""
}

// Surface is a chat's surface without what is the chat's own: its cards, its transport and who its members are. A
// message is named by the ref that its receipt has ([ask.Place]); an empty one is no message. It is safe for
// concurrent use.
type Surface struct {
	Type   string // responder type
	Bus    *responder.Responder
	Routes func() *Routes // the current ones
	Clock  responder.Clock
	Log    *slog.Logger

	gone     func(error) bool // see Calls, as the next two
	hopeless func(error) bool
	note     func(ctx context.Context, n *Note) error
	whole    func(c *card.Card, rec *ask.Record) bool // nil: every permission is shown whole
	link     func(ask.Key) string
	inbox    string
	refused  func(Refusal)
	weekly   *weekly  // nil: no digest
	lookers  *lookers // nil: cards do not say who looks
	server   atomic.Pointer[responder.Server]
	clicked  *lru.Cache[string, struct{}] // messages that were just clicked, which are edited first
	sending  chan struct{}                // a place for each file that is in memory
	attached *lru.Cache[string, struct{}] // posts whose files were sent
	pairing  atomic.Pointer[Pairing]      // nil: no code is waited for
}

// NewSurface makes a surface of a chat, whose responder type is that of the bus, or without one the chat. The error says what is wrong with the routing file, or the settings of the
// digest.
func NewSurface(typ string, bus *responder.Responder, o Options, ids IDs) (*Surface, error) {
	o.Routes.Member = ids.Member
	if bus != nil {
		typ = bus.Type()
	}
	s := &Surface{
		Type: typ, Bus: bus, Clock: cmp.Or(o.Clock, responder.WallClock()), Log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		Routes: func() *Routes { return &o.Routes }, link: o.Link, inbox: o.Inbox, refused: o.Refused, clicked: NewCache[string, struct{}](2_000), sending: make(chan struct{}, maxSending), attached: NewCache[string, struct{}](10_000),
	}
	var err error
	if s.weekly, err = newWeekly(typ, &o, &ids); err != nil {
		return nil, err
	}
	if o.RouteFile != "" {
		f, err := file.OpenLive(o.RouteFile, func(data []byte) (*Routes, error) { return ParseRoutes(data, ids) }, s.Log)
		if err != nil {
			return nil, fmt.Errorf("%s: routing file: %w", typ, err)
		}
		s.Routes = f.Content
	}
	return s, nil
}

// Calls sets how the chat posts a note, whose errors are those of a [Digester], and how it sorts the errors of its calls: gone is
// that of a message which cannot be edited any more, and hopeless that of a post for which a retry is useless. Call it before
// serving. E-mail does not: it posts, tells and edits in its own ways.
func (s *Surface) Calls(note func(ctx context.Context, n *Note) error, gone, hopeless func(error) bool) {
	s.note, s.gone, s.hopeless = note, gone, hopeless
}

// maxCall bounds one call of a presenter, which waits for the turns of its calls itself.
const maxCall = 10 * time.Minute

// Serve posts asks with p, and edits them to their outcomes, until ctx ends; and the weekly digest, if there is one. Each call of the chat waits for its turn
// with the limiter, whose paces the living replicas with the same account share.
func (s *Surface) Serve(ctx context.Context, p responder.Presenter, limiter *responder.Limiter, account string, opts responder.ServeOptions) error {
	if s.link != nil {
		opts.Link = s.link
	}
	opts.Clock, opts.Limiter, opts.Account, opts.CallLimit = s.Clock, limiter, account, maxCall
	opts.Default = func() string { return s.Routes().Default.Place() }
	srv, err := responder.NewServer(s.Bus, p, opts)
	if err != nil {
		return err
	}
	s.server.Store(srv)
	var all sync.WaitGroup
	defer all.Wait()
	beside, stop := context.WithCancel(ctx)
	defer stop()
	if s.weekly != nil {
		post := s.noteDigest
		if d, ok := p.(Digester); ok {
			post = d.Digest
		}
		all.Go(func() { s.digests(beside, post, account) })
	}
	if s.lookers != nil {
		all.Go(func() { s.lookers.run(beside) })
	}
	return srv.Run(ctx)
}

// Health returns the state of what [Surface.Serve] runs; ok is false before.
func (s *Surface) Health() (h responder.Health, ok bool) {
	srv := s.server.Load()
	if srv == nil {
		return h, false
	}
	return srv.Health(), true
}

// Refuse reports a refusal that no broker sees.
func (s *Surface) Refuse(f Refusal) {
	if s.refused != nil {
		s.refused(f)
	}
}

// Now is the rank of a call that a person waits for.
func (s *Surface) Now() responder.Rank { return responder.Rank{Urgent: true, At: s.Clock.Now()} }

// Looks tells the inboxes that somebody who may decide an ask is at it: they wrote in its thread, or opened its form.
// A chat says nothing of who only reads: see [board.PostedAt]. The inboxes offer the ask to nobody else for a while, unless it is urgent.
func (s *Surface) Looks(ctx context.Context, by ask.By, rec *ask.Record, answering bool) {
	if _, may := rec.Ask.As(by, nil, time.Time{}); !may || rec.Outcome != nil {
		return
	}
	if err := board.LookFrom(s.Bus, by, rec.Ask.Key(), answering); err != nil { // the worst is that somebody reads it for nothing
		s.Log.DebugContext(ctx, "cannot tell who is at an ask", slog.String("ask_id", rec.Ask.ID), slog.Any("error", err))
	}
}

// Language returns the language of an ask's card, which everybody in a place sees: that of its route, else English.
func (s *Surface) Language(a *ask.Ask) *lang.Language { return lang.Of(s.Routes().Decide(a).Language) }

// Speaks returns the language of what only one person sees: that of a tag, which may be empty, else that of the ask's
// card; without an ask that of the default route.
func (s *Surface) Speaks(tag string, a *ask.Ask) *lang.Language {
	switch {
	case tag != "":
		return lang.Of(tag)
	case a == nil:
		return lang.Of(s.Routes().Default.Language)
	}
	return s.Language(a)
}

// LinkTo returns the URL at which an ask can be answered in a browser, or "".
func (s *Surface) LinkTo(k ask.Key) string {
	if s.link == nil {
		return ""
	}
	return s.link(k)
}

// Card returns what a message shows of a pending ask. A message is shared: it says who may answer, and the broker
// checks who does.
func (s *Surface) Card(l *lang.Language, rec *ask.Record) *card.Card {
	return s.CardFor(s.shared(l), rec)
}

// CardFor is Card for what one person reads.
func (s *Surface) CardFor(v card.Viewer, rec *ask.Record) *card.Card {
	now := s.Clock.Now()
	if rec.AskedAt.IsZero() {
		rec.AskedAt = now
	}
	c := s.uncut(v, rec, now)
	if s.withholds(rec, now) {
		c.Withhold(s.LinkTo(rec.Ask.Key()) != "")
	}
	return c
}

// Pending returns the record of an ask that is being posted.
func Pending(p *responder.Post) *ask.Record {
	return &ask.Record{State: ask.StatePending, Ask: p.Ask, AskedAt: p.AskedAt, Life: p.Life}
}

// RankOf returns the rank of posting an ask.
func RankOf(p *responder.Post) responder.Rank {
	return responder.Rank{Urgent: p.Ask.Priority == ask.PriorityUrgent, At: p.AskedAt}
}

func (s *Surface) shared(l *lang.Language) card.Viewer {
	return card.Viewer{Surface: s.Type, Lang: l.Tag, Shared: true}
}

func (s *Surface) viewer(l *lang.Language, by ask.By) card.Viewer {
	return card.Viewer{By: by, Surface: s.Type, Lang: l.Tag}
}

// Route returns where an ask is posted, as [responder.Router] does: the id of a channel or a person.
func (s *Surface) Route(post responder.Post) []string {
	to := s.Routes().Decide(&post.Ask)
	return []string{to.Place()}
}

// Wants reports whether an ask is posted at all, as [responder.Chooser] does.
func (s *Surface) Wants(post responder.Post) bool { return !s.Routes().Decide(&post.Ask).Nowhere }

// Present posts an ask to the target of its route with post. If that is hopeless, such as an archived channel or a
// deactivated person, it posts to the default target. The error is a [*responder.PermanentError] if that is hopeless
// as well.
func (s *Surface) Present(ctx context.Context, a *ask.Ask, post func(Target) (ask.Place, error)) ([]ask.Place, error) {
	routes := s.Routes()
	to := routes.Decide(a)
	at, err := post(to.Target)
	if err != nil && s.hopeless(err) && !routes.Default.Nowhere && !to.At(routes.Default) {
		s.Log.WarnContext(ctx, "a route's target cannot be posted to; posting to the default", slog.String("ask_id", a.ID), slog.String("route", to.Why), slog.String("error", err.Error()))
		at, err = post(routes.Notify(routes.Default, a))
	}
	if err != nil && s.hopeless(err) {
		return nil, &responder.PermanentError{Err: err}
	}
	if err != nil {
		return nil, err
	}
	if s.Bus != nil { // tests of routes have none
		if err := board.PostedAt(s.Bus, a.Key(), to.Place()); err != nil { // as in Looks
			s.Log.DebugContext(ctx, "cannot tell where an ask is shown", slog.String("ask_id", a.ID), slog.Any("error", err))
		}
	}
	return []ask.Place{at}, nil
}

// End returns what the messages of an ended ask say, as [Summarize] does.
func (s *Surface) End(e *responder.Ended, clean func(s string, most int) string) Summary {
	return s.EndIn(s.Language(&e.Ask), &ask.Record{State: ask.StateResolved, Ask: e.Ask, AskedAt: e.AskedAt, Life: e.Life, Outcome: &e.Outcome}, clean)
}

// EndIn is End for a record, in a language.
func (s *Surface) EndIn(l *lang.Language, rec *ask.Record, clean func(s string, most int) string) Summary {
	return Summarize(rec, card.New(rec, s.shared(l), s.Clock.Now()), clean)
}

// EditAll edits every message of an ask with edit, those that were just clicked first, then in the order of a time. A
// message that is gone is no error. If the service refuses for now, that is the error.
func (s *Surface) EditAll(ctx context.Context, a *ask.Ask, order time.Time, places []ask.Place, edit func(ref string, r responder.Rank) error) error {
	var failed error
	for _, at := range places {
		ref := at.Ref
		_, urgent := s.clicked.Get(messageOf(ref))
		switch err := edit(ref, responder.Rank{Urgent: urgent, At: order}); {
		case err == nil:
			s.clicked.Remove(messageOf(ref))
		case s.gone(err):
			s.Log.InfoContext(ctx, "a message was deleted", slog.String("ask_id", a.ID), slog.String("error", err.Error()))
		default:
			failed = errors.Join(failed, err)
		}
	}
	if retry, ok := errors.AsType[*responder.RetryError](failed); ok {
		return retry
	}
	return failed
}

// Identify completes who answers an ask. The user's id, if it is not empty, gives the principal that the routes give them, so that they are
// the same person on every surface, unless the ask names the one that they have here; and the groups of the ask that
// they are in, as in reports for the id of the chat's group. A group that cannot be read counts as empty.
func (s *Surface) Identify(ctx context.Context, by *ask.By, user string, a *ask.Ask, in func(group string) (bool, error)) {
	routes := s.Routes()
	named := named(a)
	if one := routes.Principal(user, named); user != "" && one != "" && (slices.Contains(named, one) || !slices.Contains(named, by.Principal)) {
		by.Principal = one
	}
	by.Groups = s.groups(ctx, routes, a, in)
}

func (s *Surface) groups(ctx context.Context, routes *Routes, a *ask.Ask, in func(group string) (bool, error)) (groups []string) {
	for _, entry := range named(a) {
		name, ok := strings.CutPrefix(entry, "group:")
		id := routes.Groups[name]
		if !ok || id == "" {
			continue
		}
		is, err := in(id)
		if err != nil {
			s.Log.WarnContext(ctx, "cannot read a group of the chat: it has no members until it can be read", slog.String("group", id), slog.String("error", err.Error()))
		}
		if is {
			groups = append(groups, name)
		}
	}
	return groups
}

// named returns everybody, as in [ask.Ask.Audience], by whom an ask says who decides it: its audience, and whose votes
// count.
func named(a *ask.Ask) []string {
	all := slices.Clone(ask.Named(a.Audience))
	add := func(from []string) {
		for _, entry := range ask.Named(from) {
			if !slices.Contains(all, entry) {
				all = append(all, entry)
			}
		}
	}
	if a.Approval == nil {
		return all
	}
	for i := range a.Approval.AnyOf {
		alt := &a.Approval.AnyOf[i]
		add(alt.From)
		for _, f := range alt.AllOf {
			add(f.From)
		}
	}
	if a.Approval.Deny != nil {
		add(a.Approval.Deny.From)
	}
	return all
}
