package pagerduty

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// Type is the responder type.
const Type = ask.TypePagerDuty

// URL is the Events API of accounts in the US; the EU's is https://events.eu.pagerduty.com.
const URL = "https://events.pagerduty.com"

// Options configures an [App].
type Options struct {
	RoutingKey string // integration key of a service or an orchestration
	URL        string // default [URL]
	Tenant     string // the credential's only tenant, if any
	Link       func(ask.Key) string
	Client     *http.Client // default: one that follows no redirects
	Logger     *slog.Logger // default: discard
}

// App tells PagerDuty of the steps of ladders. It is a [responder.Presenter]. It is
// safe for concurrent use; run it once.
type App struct {
	r       *responder.Responder // nil: only [App.Doctor]
	opts    Options
	refused atomic.Pointer[error] // why PagerDuty refused the last event for good; nil: it did not
}

// New makes the surface on a connection of a responder of type [Type]; without a
// connection it has only a doctor. It starts nothing.
func New(nc *nats.Conn, opts Options) (*App, error) {
	opts.URL = cmp.Or(opts.URL, URL)
	u, err := url.Parse(opts.URL)
	switch {
	case opts.RoutingKey == "":
		return nil, errors.New("no integration key: set ASKBUS_PAGERDUTY_ROUTING_KEY_FILE to a file that holds it; PagerDuty shows it at the service, under Integrations, Events API v2")
	case len(opts.RoutingKey) != 32 || strings.Trim(opts.RoutingKey, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return nil, errors.New("the integration key is not 32 letters and digits: take the one of an Events API v2 integration, not an API key")
	case err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !httpserver.LoopbackHost(u.Host)):
		return nil, errors.New("ASKBUS_PAGERDUTY_URL is not an https URL such as " + URL)
	}
	opts.URL = strings.TrimRight(opts.URL, "/")
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Client == nil {
		opts.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	a := &App{opts: opts}
	if nc == nil {
		return a, nil
	}
	a.r, err = responder.New(nc, Type, responder.Options{Tenant: opts.Tenant, Logger: opts.Logger})
	return a, err
}

// Run tells PagerDuty until ctx ends, then returns nil.
func (a *App) Run(ctx context.Context) error {
	return a.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Grace: sendLimit}})
}

// Serve is Run with other options of the kit.
func (a *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	if opts.Every == 0 {
		opts.Every, opts.Burst = 500*time.Millisecond, 10 // two a second; what PagerDuty takes with one key was not tried, and a 429 is obeyed
	}
	sum := sha256.Sum256([]byte(a.opts.RoutingKey))
	opts.Account = hex.EncodeToString(sum[:8])
	if opts.Link == nil {
		opts.Link = a.opts.Link
	}
	return a.r.Serve(ctx, a, opts)
}

// Wants skips asks that no step leads to PagerDuty yet.
func (a *App) Wants(p responder.Post) bool { return len(p.Steps) > 0 }

// Present opens nothing: each step does. What it returns is recorded before the first
// incident is opened, so that the end of the ask resolves also what was opened right
// before a crash.
func (a *App) Present(_ context.Context, p responder.Post) ([]ask.Place, error) {
	return []ask.Place{{Ref: p.Key, Where: "PagerDuty"}}, nil
}

// Find finds nothing: Present posts nothing.
func (a *App) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// Escalate opens an incident for each step. That one person has decided alone, which the kit
// tells as a step, opens none: nothing waits any more, and nothing would resolve it.
func (a *App) Escalate(ctx context.Context, p responder.Post, rec ask.Record, steps []ask.Step, _ []ask.Place) ([]ask.Place, error) {
	if rec.Outcome != nil {
		return nil, nil
	}
	for i := range steps {
		if err := a.send(ctx, triggerOf(&p, &steps[i])); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Refresh acknowledges the incidents, once somebody has looked at the ask since the
// last of them was opened: PagerDuty then stops escalating by its own policy.
func (a *App) Refresh(ctx context.Context, p responder.Post, rec ask.Record, _ []ask.Place) error {
	mine := rec.Escalated.Since(0, Type)
	if len(mine) == 0 || len(rec.Escalated.Seen) == 0 || rec.Escalated.Seen[len(rec.Escalated.Seen)-1].At.Before(mine[len(mine)-1].At) {
		return nil
	}
	return a.each(ctx, p.Key, mine, acknowledge)
}

// Update resolves the incidents of an ask that has ended.
func (a *App) Update(ctx context.Context, e responder.Ended) error {
	return a.each(ctx, e.Key, e.Outcome.Escalated.Since(0, Type), resolve)
}

// each sends an event about the incident of each step. PagerDuty ignores one about an
// incident that is resolved already or was never opened.
func (a *App) each(ctx context.Context, key string, steps []ask.Step, action string) error {
	for i := range steps {
		if err := a.send(ctx, event{Action: action, DedupKey: dedupKey(key, steps[i].N)}); err != nil {
			return err
		}
	}
	return nil
}

// Ready returns why PagerDuty refuses what it is sent, or nil.
func (a *App) Ready() error {
	if err := a.refused.Load(); err != nil {
		return *err
	}
	return nil
}

// Doctor checks the integration key with an event that changes nothing: it resolves an
// incident that does not exist.
func (a *App) Doctor(ctx context.Context) finding.List {
	var l finding.List
	err := a.send(ctx, event{Action: resolve, DedupKey: "askbus-doctor"})
	permanent, refused := errors.AsType[*responder.PermanentError](err)
	switch {
	case err == nil:
		l.Say("key", finding.Good, "PagerDuty takes events with this integration key")
	case refused:
		l.Say("key", finding.Broken, "%v; take the integration key of an Events API v2 integration of the service, and for an account in the EU set ASKBUS_PAGERDUTY_URL=https://events.eu.pagerduty.com", permanent.Err)
	default:
		l.Say("key", finding.Broken, "%v", err)
	}
	return l
}

var (
	_ responder.Escalator = (*App)(nil)
	_ responder.Refresher = (*App)(nil)
	_ responder.Chooser   = (*App)(nil)
)
