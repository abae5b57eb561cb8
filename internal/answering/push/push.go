package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
)

// Type is the responder type.
const Type = "push"

// Options configures an [App] and a [Store]. The zero value is ready to use.
type Options struct {
	Hosts   []string      // push services besides [Hosts]
	Contact string        // contact for push services: an https URL or an e-mail address; default: https://askbus.dev
	Tenant  string        // the credential's only tenant, if any
	Unseen  time.Duration // after which people are told in a chat instead; zero: never
	Client  *http.Client  // default: one that follows no redirects
	Logger  *slog.Logger  // default: discard
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Contact = cmp.Or(o.Contact, "https://askbus.dev")
	if o.Client == nil {
		o.Client = &http.Client{
			Timeout:       sendLimit,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	o.Hosts = append(Hosts(), o.Hosts...)
	return o
}

// Limits of notices.
const (
	atOnce     = 8 // concurrent requests for one ask
	maxPayload = 3000
	sendLimit  = 10 * time.Second
	clockSkew  = time.Minute      // between the ledger's and the inbox's clock
	keepEnded  = 10 * time.Minute // how long a push service keeps the notice of an end
)

// App sends notices to subscribed browsers. It is a [responder.Presenter]. It is safe for
// concurrent use; run it once.
type App struct {
	r      *responder.Responder
	bucket *state.Bucket
	cache  *state.Cache
	away   *state.Cache // who stands in for whom
	sender sender
	opts   Options
	some   chan struct{}                             // has a signal after a new subscription
	looks  *lru.Cache[ask.Key, map[string]time.Time] // by whom an ask was looked at, and when
	mu     sync.Mutex
}

// New makes the surface on a connection of a responder of type [Type]. It starts nothing.
func New(nc *nats.Conn, keys Keys, opts Options) (*App, error) {
	opts = opts.withDefaults()
	r, err := responder.New(nc, Type, responder.Options{Tenant: opts.Tenant, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	a := &App{r: r, bucket: state.Open(nc, state.Responder(Type, opts.Tenant), state.Push), sender: sender{keys, opts}, opts: opts, some: make(chan struct{}, 1)}
	a.looks, err = lru.New[ask.Key, map[string]time.Time](maxLooked)
	if err != nil {
		return nil, err
	}
	a.away = state.NewCache(state.Open(nc, state.Responder(Type, opts.Tenant), state.StandIns), state.CacheOptions{Logger: opts.Logger})
	a.cache = state.NewCache(a.bucket, state.CacheOptions{Logger: opts.Logger, Changed: func(_, now *state.Entry) {
		if now != nil {
			select {
			case a.some <- struct{}{}:
			default:
			}
		}
	}})
	return a, nil
}

// Run sends notices until ctx ends, then returns nil. It takes no work before the first
// subscription.
func (a *App) Run(ctx context.Context) error {
	return a.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Grace: sendLimit}, Every: 50 * time.Millisecond, Burst: 20})
}

// Serve is Run with other options of the kit.
func (a *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	following := make(chan error, 2)
	for _, cache := range []*state.Cache{a.cache, a.away} {
		go func() {
			defer cancel()
			following <- cache.Run(ctx)
		}()
	}
	stop, err := board.Hear(a.r, a.looked)
	if err != nil {
		cancel()
		return errors.Join(err, <-following, <-following)
	}
	defer stop()
	select {
	case <-ctx.Done():
	case <-a.some:
		err = a.r.Serve(ctx, a, opts)
	}
	cancel()
	return errors.Join(err, <-following, <-following)
}

// subscribers returns the subscriptions of those who may decide an ask.
func (a *App) subscribers(p responder.Post) []entry {
	return a.of(p, func(by ask.By, e *entry) bool {
		return p.Ask.Allows(by) && e.Access.Decides(by, p.Ask.Key(), p.Ask.Audience) && !p.AskedAt.Add(clockSkew).Before(e.Created)
	})
}

// told returns the subscriptions of those whom steps of a ladder tell, if they may see the ask.
func (a *App) told(p responder.Post) []entry {
	return a.of(p, func(by ask.By, e *entry) bool {
		return e.Access.Sees(by, p.Ask.Key(), p.Ask.Audience) && slices.ContainsFunc(p.Steps, func(s ask.Step) bool { return p.Ask.Tells(&s, by) })
	})
}

func (a *App) of(p responder.Post, notifies func(by ask.By, e *entry) bool) []entry {
	all, err := a.cache.All()
	if err != nil {
		a.opts.Logger.Warn("cannot list the subscriptions", slog.Any("error", err))
		return nil
	}
	var mine []entry
	standIns := a.standIns()
	for _, e := range read(all, time.Now()) {
		by := e.by()
		if p.Ask.NeedsPrincipal() && !by.ProvesPrincipal() {
			continue
		}
		if slices.ContainsFunc(by.Selves(p.Ask.Tenant, standIns, time.Now()), func(self ask.By) bool { return notifies(self, &e) }) {
			mine = append(mine, e)
		}
	}
	if len(mine) > ask.MaxPlaces {
		mine = mine[:ask.MaxPlaces]
	}
	return mine
}

// standIns returns who stands in for whom. While that cannot be read, nobody does: a notice is no right.
func (a *App) standIns() (standIns []ask.StandIn) {
	all, err := a.away.All()
	if err != nil {
		a.opts.Logger.Warn("cannot list who stands in for whom", slog.Any("error", err))
	}
	for i := range all {
		if one, err := state.StandInOf(&all[i]); err == nil {
			standIns = append(standIns, one)
		}
	}
	return standIns
}

// Wants skips asks without a subscriber.
func (a *App) Wants(p responder.Post) bool {
	return len(a.subscribers(p)) > 0 || len(p.Steps) > 0 && len(a.told(p)) > 0
}

// Present notifies every browser of the people who may answer.
func (a *App) Present(ctx context.Context, p responder.Post) ([]ask.Place, error) {
	record := ask.Record{State: ask.StatePending, Ask: p.Ask, AskedAt: p.AskedAt, Life: p.Life}
	until := time.Until(p.Ask.Due(p.AskedAt))
	return a.ring(ctx, a.subscribers(p), &record, until)
}

// Escalate rings the browsers of those whom the steps tell.
func (a *App) Escalate(ctx context.Context, p responder.Post, rec ask.Record, _ []ask.Step, places []ask.Place) ([]ask.Place, error) {
	rung, err := a.ring(ctx, a.told(p), &rec, time.Until(p.Ask.Due(p.AskedAt)))
	return slices.DeleteFunc(rung, func(at ask.Place) bool { return slices.Contains(places, at) }), err
}

// Update tells the notified browsers how the ask ended.
func (a *App) Update(ctx context.Context, e responder.Ended) error {
	all, err := a.cache.All()
	if err != nil {
		return err
	}
	rung := map[string]bool{}
	for _, p := range e.Places {
		rung[p.Ref] = true
	}
	var to []entry
	for _, one := range read(all, time.Now()) {
		if rung[one.key.Name] {
			to = append(to, one)
		}
	}
	record := ask.Record{State: ask.StateResolved, Ask: e.Ask, AskedAt: e.AskedAt, Life: e.Life, Outcome: &e.Outcome}
	_, err = a.ring(ctx, to, &record, keepEnded)
	return err
}

// Find finds nothing, because sent notices cannot be looked up. A repeated notice silently replaces
// the first one, by its tag.
func (a *App) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// ring sends a notice to subscriptions and returns which push services accepted it. If none did,
// the error is the last refusal. While some did, those that refuse for now are tried again here:
// after an error all would be rung again.
func (a *App) ring(ctx context.Context, to []entry, r *ask.Record, keep time.Duration) (places []ask.Place, failed error) {
	for pause := time.Second; len(to) > 0; pause *= 2 {
		var rung []ask.Place
		rung, to, failed = a.round(ctx, to, r, keep)
		places = append(places, rung...)
		if len(places) == 0 {
			return nil, failed
		}
		if retry, ok := errors.AsType[*responder.RetryError](failed); ok {
			pause = max(pause, retry.After)
		}
		if end, ok := ctx.Deadline(); len(to) == 0 || ok && time.Until(end) < pause+sendLimit {
			break
		}
		select {
		case <-ctx.Done():
			return places, nil
		case <-time.After(pause):
		}
	}
	return places, nil
}

// round sends a notice once. Those of again may be tried again, and failed is the last refusal.
func (a *App) round(ctx context.Context, to []entry, r *ask.Record, keep time.Duration) (places []ask.Place, again []entry, failed error) {
	errs := make([]error, len(to))
	slots := make(chan struct{}, atOnce)
	var sending sync.WaitGroup
	for i := range to {
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			errs[i] = a.send(ctx, &to[i], r, keep)
		})
	}
	sending.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
			places = append(places, ask.Place{Ref: to[i].key.Name})
		case errors.Is(err, errGone):
		default:
			failed = err
			a.opts.Logger.WarnContext(ctx, "cannot notify a browser", slog.String("ask_id", r.Ask.ID), slog.Any("error", err))
			if _, never := errors.AsType[*responder.PermanentError](err); !never {
				again = append(again, to[i])
			}
		}
	}
	return places, again, failed
}

// send sends a notice of an ask to a subscription. One that is gone is forgotten.
func (a *App) send(ctx context.Context, to *entry, r *ask.Record, keep time.Duration) error {
	payload, err := json.Marshal(card.New(r, card.Viewer{By: to.by(), Access: to.Access, StandIns: func(ask.By) []ask.StandIn { return a.standIns() }, Surface: Type, Lang: to.Language}, time.Now()).Notice(r.Life))
	if err != nil {
		return err
	}
	if len(payload) > maxPayload {
		return &responder.PermanentError{Err: fmt.Errorf("the notice has %d bytes; at most %d fit", len(payload), maxPayload)}
	}
	m := message{payload: payload, keep: keep, topic: hash("askbus topic\x00" + r.Ask.Key().String() + "\x00" + r.Life)}
	m.urgent = r.Ask.Priority == ask.PriorityHigh || r.Ask.Priority == ask.PriorityUrgent
	err = a.sender.send(ctx, &to.Subscription, m)
	if errors.Is(err, errGone) && !errors.Is(err, errHost) {
		if err := forget(ctx, a.bucket, to); err != nil {
			return err
		}
	}
	return err
}
