package webhooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/webhook"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
)

// Type is the responder type.
const Type = "webhook"

// Options tunes an [App]. File is required.
type Options struct {
	File    string // the operator's file; read again when it changes
	Tenant  string // only this tenant; default: all that the credential may see
	BaseURL string // of the inbox and the HTTP API, in links and answer addresses; default: there are none

	Failed         func(Failure)        // called with each delivery that failed for good; must not block; default: none
	Now            func() time.Time     // default: time.Now
	Look           time.Duration        // how often it looks for what is due; default 1 s
	Logger         *slog.Logger         // default: discard
	TracerProvider trace.TracerProvider // default: none
}

// Failure is a delivery that is not tried again.
type Failure struct {
	Ask      ask.Key
	Receiver string // "callback builder"
	Why      string
}

// App is the surface. It is safe for concurrent use.
type App struct {
	opts   Options
	log    *slog.Logger
	bus    *responder.Responder
	names  *state.Bucket
	chosen *state.Bucket // pushes of A2A clients
	bucket *state.Bucket
	file   func() *File
	sender *webhook.Sender
	me     string        // this replica, in claims
	reads  chan struct{} // a place for each file that is being sent

	wake       chan struct{}
	running    sync.WaitGroup // deliveries of the bucket
	registered *File          // whose names the bus knows; of the goroutine of Run

	mu    sync.Mutex
	gates map[receiver]*gate
	late  map[state.Key]*waiting
}

// Bounds of sending.
const (
	places     = 4                   // attempts at one receiver at a time
	claimed    = time.Minute         // after which another replica takes a delivery over; more than an attempt can take
	keep       = 20 * 24 * time.Hour // of an entry of the bucket; more than the schedule
	concurrent = 64                  // items of work at a time
	putOff     = 30 * time.Second    // of work that the bucket cannot take
)

// gate bounds the attempts at one receiver.
type gate struct {
	busy int
	down bool // the last attempt failed: what comes waits in the bucket, and holds up no work
}

// waiting is a delivery of the bucket.
type waiting struct {
	delivery
	revision uint64
	seen     time.Time // when this replica first saw this revision
	busy     bool      // this replica is claiming or sending it
}

// New makes the surface on a connection with a credential of its type. It sends nothing.
func New(nc *nats.Conn, opts Options) (*App, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Look, opts.Logger = cmp.Or(max(opts.Look, 0), time.Second), cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Failed == nil {
		opts.Failed = func(Failure) {}
	}
	opts.BaseURL = strings.TrimRight(opts.BaseURL, "/")
	f, err := file.OpenLive(opts.File, func(data []byte) (*File, error) { return ParseFile(data, filepath.Dir(opts.File), opts.Logger) }, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	bus, err := responder.New(nc, Type, responder.Options{Tenant: opts.Tenant, Logger: opts.Logger, TracerProvider: opts.TracerProvider})
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	role := state.Responder(Type, opts.Tenant)
	return &App{
		opts: opts, log: opts.Logger, bus: bus, file: f.Content, sender: webhook.New(), me: rand.Text(), reads: make(chan struct{}, maxReads),
		names: state.Open(nc, role, state.Callbacks), chosen: state.Open(nc, role, state.TaskPushes), bucket: state.Open(nc, role, state.Deliveries),
		wake: make(chan struct{}, 1), gates: map[receiver]*gate{}, late: map[state.Key]*waiting{},
	}, nil
}

// Run delivers until ctx ends, and lets running attempts finish. It returns early with the errors of
// [responder.Responder.Work].
func (a *App) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cache := state.NewCache(a.bucket, state.CacheOptions{Changed: a.changed, Logger: a.log})
	ready := make(chan struct{})
	var all sync.WaitGroup
	errs := make(chan error, 3)
	for _, part := range []func() error{
		func() error { return cache.Run(ctx) },
		func() error { a.repeat(ctx, ready); return nil },
		func() error {
			return a.bus.Work(ctx, a.handle, responder.WorkOptions{Concurrency: concurrent, Ready: func() { close(ready) }})
		},
	} {
		all.Go(func() {
			defer cancel()
			errs <- part()
		})
	}
	all.Wait()
	a.running.Wait()
	a.sender.Close()
	return errors.Join(<-errs, <-errs, <-errs)
}

// handle makes the first attempt at each delivery of an item of work. What does not arrive is stored
// before the item is done.
func (a *App) handle(ctx context.Context, it responder.Item) error {
	rec := ask.Record{Ask: it.Ask, Outcome: it.Outcome, AskedAt: it.AskedAt, Life: it.Life}
	rec.Ask.Tenant, rec.Ask.Session, rec.Ask.ID = it.Key.Tenant, it.Key.Session, it.Key.ID
	pushes, done, err := a.pushes(ctx, &rec)
	if err != nil {
		return &responder.LaterError{After: putOff, Err: err}
	}
	for _, d := range append(a.deliveries(&rec), pushes...) {
		d.Next = a.opts.Now().UTC()
		g, free := a.admit(d.receiver(), true)
		if free {
			err := a.attempt(ctx, &d, &rec)
			if ctx.Err() != nil {
				a.leave(g, nil, false)
				return responder.ErrLeave
			}
			a.leave(g, err, true)
			if err == nil || !a.next(ctx, &d, err) {
				continue
			}
		}
		if _, err := a.bucket.Put(ctx, d.key(), &d, keep); err != nil {
			return &responder.LaterError{After: putOff, Err: err} // it is sent again with the same id
		}
	}
	done()
	return nil
}

// deliveries returns what is to be sent for an ask or its outcome.
func (a *App) deliveries(rec *ask.Record) (all []delivery) {
	f, k := a.file(), rec.Ask.Key()
	add := func(as kind, name string) {
		all = append(all, delivery{Kind: as, Name: name, Tenant: k.Tenant, Session: k.Session, ID: k.ID, Life: rec.Life})
	}
	as := question
	if rec.Outcome != nil {
		as = ending
		if rec.Ask.Callback != "" {
			add(callback, rec.Ask.Callback)
		}
	}
	for i := range f.Surfaces {
		if e := &f.Surfaces[i]; e.shows(&rec.Ask) {
			add(as, e.Name)
		}
	}
	return all
}

// errNoEntry says that an entry is not in the file any more.
var errNoEntry = errors.New("no operator registers this name any more")

// attempt sends a delivery, once.
func (a *App) attempt(ctx context.Context, d *delivery, rec *ask.Record) error {
	e := a.file().entry(d.Kind, d.Tenant, d.Name)
	if e == nil {
		return errNoEntry
	}
	body, err := a.body(d, e, rec)
	if err != nil || body == nil {
		return err
	}
	to := e.endpoint()
	to.Header = d.header()
	if e.Format == formatNtfy {
		if to.URL, _, err = topic(e.URL); err != nil {
			return err
		}
		if e.token != nil {
			to.Header.Set("Authorization", "Bearer "+e.token.Content())
		}
	}
	if err := a.sender.Send(ctx, to, d.messageID(), body); err != nil {
		return err
	}
	if d.Kind == question {
		a.shown(ctx, d)
	}
	return nil
}

// admit takes one of a receiver's places, if one is free. What is new gets none at a receiver that is
// down.
func (a *App) admit(r receiver, isNew bool) (*gate, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.gates[r]
	if g == nil {
		g = &gate{}
		a.gates[r] = g
	}
	if g.busy >= places || isNew && g.down {
		return nil, false
	}
	g.busy++
	return g, true
}

// leave gives a place back, and notes whether the receiver is up.
func (a *App) leave(g *gate, err error, tried bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g.busy--
	if tried {
		g.down = err != nil
	}
	a.rouse()
}

// next sets when a failed delivery is tried again; false: it failed for good, which is recorded.
func (a *App) next(ctx context.Context, d *delivery, err error) bool {
	d.Failed++
	d.Claim, d.Error = "", clipBytes(ask.CleanLine(err.Error()), maxError)
	wait, again := webhook.After(d.Failed)
	if refused, ok := errors.AsType[*webhook.RefusedError](err); ok {
		again = again && !refused.Gone()
		wait = max(wait, min(refused.After, 24*time.Hour))
	}
	d.Next = a.opts.Now().Add(wait).UTC()
	log := a.log.With(slog.String("ask_id", d.ID), slog.String("receiver", d.receiver().String()), slog.Int("attempt", d.Failed), slog.String("error", d.Error))
	if again && !errors.Is(err, errPast) {
		log.WarnContext(ctx, "a webhook failed; trying again", slog.Duration("again_in", wait))
		return true
	}
	log.ErrorContext(ctx, "a webhook failed for good")
	a.opts.Failed(Failure{Ask: d.ask(), Receiver: d.receiver().String(), Why: d.Error})
	a.count(ctx, d)
	return false
}

// String returns, for example, "callback builder".
func (r receiver) String() string {
	if r.callback {
		return "callback " + r.name
	}
	return "surface " + r.name
}

const maxError = 300 // bytes

// count adds a failure for good to the entry that "askbus doctor" reads.
func (a *App) count(ctx context.Context, d *delivery) {
	key := failuresKey(d.Tenant, d.receiver().callback, d.Name)
	for range 5 {
		var f wire.WebhookFailures
		e, err := a.bucket.Get(ctx, key)
		if err == nil {
			err = json.Unmarshal(e.Value, &f)
		} else if errors.Is(err, ask.ErrNotFound) {
			err = nil
		}
		if err == nil {
			f.Count++
			f.Receiver, f.Ask, f.Error, f.At = d.receiver().String(), d.Session+"/"+d.ID, d.Error, a.opts.Now().UTC()
			if e.Revision == 0 {
				_, err = a.bucket.Create(ctx, key, f, keep)
			} else {
				_, err = a.bucket.Update(ctx, key, f, e.Revision, keep)
			}
		}
		if !errors.Is(err, ask.ErrConflict) {
			if err != nil {
				a.log.WarnContext(ctx, "cannot record a webhook that failed for good", slog.Any("error", err))
			}
			return
		}
	}
}

// failuresKey returns the entry of the bucket deliveries with the failures of one receiver.
func failuresKey(tenant string, ofCallback bool, name string) state.Key {
	k := question
	if ofCallback {
		k = callback
	}
	return state.Key{Tenant: tenant, Name: wire.WebhookFailuresPrefix + string(k) + "." + name}
}
