package opencode

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// Caller is the agent that the server runs.
type Caller struct {
	Tenant   string                             // default: [ask.DefaultTenant]
	Session  func(dir string) string            // the session of what is asked in a directory
	Agent    ask.Agent                          // default name: opencode
	Work     func(dir string, agent *ask.Agent) // sets repository and branch of a directory; nil: the server is elsewhere
	Language string                             // of the words of permissions; default: English
	Timeout  time.Duration                      // of each ask; default: the protocol's
	Outlive  bool                               // asks stay open when nobody waits for them
	MinProof string                             // what the answer to a permission must prove; a lasting one needs [ask.ProofOS] or more
}

// Opener returns the asks of one session, for one ask. Calls may be concurrent.
type Opener interface {
	Open(ctx context.Context, tenant, session string) (client.Session, error)
}

// Options tunes [Run]. The zero value is ready to use.
type Options struct {
	Logger *slog.Logger  // default: discard
	Retry  time.Duration // the first wait before another attempt to reach the server; default 500 ms, later 16 s
	Silent time.Duration // after which a connection is dead; default 45 s (the server sends something every 10 s)
	Most   int           // requests that are asked at a time; others only opencode asks; default 256
	Gone   time.Duration // after which an unreachable server has left its requests; default 1 min
	// Waiting is called when a wait for people begins; done ends it. Default: none.
	Waiting func(*ask.Ask) (done func())
	// Following is called each time the server's events are followed and what it has pending is asked. Default: none.
	Following func()
}

// Bounds of one bridge.
const (
	maxDirectories = 64
	maxLives       = 64 // of one request: how often it is asked because its ask was withdrawn
)

// The reasons of withdrawals.
var (
	errDecided = errors.New("decided in opencode")
	errLeft    = errors.New("decided or left in opencode")
	errLost    = errors.New("the server of opencode is gone")
	errStopped = errors.New("the bridge to opencode was stopped")
)

// bridge follows one server.
type bridge struct {
	server *Server
	open   Opener
	who    Caller
	opts   Options
	bell   chan struct{} // rung when the server's lists may have changed

	mu       sync.Mutex
	dirs     []string // whose lists are read; the first is the server's own
	requests map[string]*held
	serving  sync.WaitGroup
}

// held is a request that is asked, or was asked and is still on the server's list.
type held struct {
	request
	end   context.CancelCauseFunc
	ended bool
}

// Run asks people what the server asks, until ctx ends: it then withdraws what is open, and returns nil. It returns
// [ErrPassword] or [ErrForeign] if there is no use in waiting for the server.
func Run(ctx context.Context, server *Server, open Opener, who Caller, opts Options) error {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Following == nil {
		opts.Following = func() {}
	}
	opts.Retry, opts.Silent, opts.Gone = cmp.Or(opts.Retry, 500*time.Millisecond), cmp.Or(opts.Silent, 45*time.Second), cmp.Or(opts.Gone, time.Minute)
	opts.Most = cmp.Or(opts.Most, 256)
	who.Tenant, who.Agent.Name = cmp.Or(who.Tenant, ask.DefaultTenant), cmp.Or(who.Agent.Name, "opencode")
	b := &bridge{server: server, open: open, who: who, opts: opts, bell: make(chan struct{}, 1), requests: map[string]*held{}}
	defer b.serving.Wait()
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errStopped)
	lost := time.AfterFunc(opts.Gone, b.lost)
	defer lost.Stop()
	for try := 0; ; try++ {
		err := b.follow(ctx, life, func() { try = 0; lost.Stop() })
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrPassword), errors.Is(err, ErrForeign):
			return err
		case try == 0:
			lost.Reset(opts.Gone)
			opts.Logger.WarnContext(ctx, "the server of opencode cannot be reached", slog.Any("error", err))
		}
		if backoff.Wait(ctx, opts.Retry, try) != nil {
			return nil
		}
	}
}

// follow reads the server's events, and its lists when they may have changed, until either fails or ctx ends.
func (b *bridge) follow(ctx, life context.Context, reached func()) error {
	ctx, end := context.WithCancelCause(ctx)
	var reading sync.WaitGroup
	defer func() { end(nil); reading.Wait() }()
	var path struct {
		Directory string `json:"directory"`
	}
	if err := b.server.get(ctx, "/path", nil, &path); err != nil {
		if errors.Is(err, errAbsent) {
			return ErrForeign
		}
		return err
	}
	b.know(path.Directory)
	return b.server.events(ctx, b.opts.Silent, func() {
		b.ring()
		reading.Go(func() {
			for first := true; ; first = false {
				select {
				case <-ctx.Done():
					return
				case <-b.bell:
				}
				if err := b.sync(ctx, life); err != nil {
					end(err)
					return
				}
				if first {
					reached()
					b.opts.Following()
				}
			}
		})
	}, b.happened)
}

func (b *bridge) happened(e event) {
	typ, of := e.Payload.Type, e.Payload.Properties
	ours := strings.HasPrefix(typ, "question.") || strings.HasPrefix(typ, "permission.")
	switch {
	case ours && (strings.HasSuffix(typ, ".replied") || strings.HasSuffix(typ, ".rejected")):
		b.decided(of.SessionID, of.RequestID)
	case ours, typ == "": // that was too long to be read
	case !strings.HasPrefix(typ, "session.") || strings.HasSuffix(typ, ".delta") || !b.waits(of.SessionID):
		return // else its turn may have ended
	}
	if e.Directory != "" {
		b.know(e.Directory)
	}
	b.ring()
}

func (b *bridge) ring() {
	select {
	case b.bell <- struct{}{}:
	default: // rung already
	}
}

// know adds a directory whose lists are read.
func (b *bridge) know(dir string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.dirs, dir) && len(b.dirs) < maxDirectories {
		b.dirs = append(b.dirs, dir)
	}
}

// waits reports whether a session of opencode has a request that is asked.
func (b *bridge) waits(session string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.requests {
		if h.Session == session && !h.ended {
			return true
		}
	}
	return false
}

// decided ends the ask of a request that somebody decided.
func (b *bridge) decided(session, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.requests[(&request{Session: session, ID: id}).key()]; h != nil {
		h.end(errDecided)
	}
}

// lost ends all asks of a server that is gone. If it comes back with them, they are asked again.
func (b *bridge) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, h := range b.requests {
		h.end(errLost)
		delete(b.requests, key)
	}
}

// sync asks what the server has pending and is not asked yet, and ends what is no longer pending.
func (b *bridge) sync(ctx, life context.Context) error {
	b.mu.Lock()
	dirs := slices.Clone(b.dirs)
	b.mu.Unlock()
	var all []request
	for _, dir := range dirs {
		found, err := b.server.pending(ctx, dir)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	listed, left := map[string]bool{}, 0
	for _, r := range all {
		listed[r.key()] = true
	}
	for key, h := range b.requests {
		if !listed[key] {
			h.end(errLeft)
			delete(b.requests, key)
		}
	}
	for _, r := range all {
		key := r.key()
		if b.requests[key] != nil {
			continue
		}
		if len(b.requests) >= b.opts.Most {
			left++
			continue
		}
		alive, end := context.WithCancelCause(life)
		h := &held{request: r, end: end}
		b.requests[key] = h
		b.serving.Go(func() {
			defer end(nil)
			b.serve(alive, h)
			b.mu.Lock()
			defer b.mu.Unlock()
			h.ended = true
		})
	}
	if left > 0 {
		b.opts.Logger.WarnContext(ctx, "too many requests are open; until some end, only opencode asks the others", slog.Int("open", len(b.requests)), slog.Int("others", left))
	}
	return nil
}

// serve asks for one request until it is decided anywhere.
func (b *bridge) serve(ctx context.Context, h *held) {
	q, err := b.read(ctx, &h.request)
	if err != nil {
		b.opts.Logger.WarnContext(ctx, "only opencode asks this", slog.String("request", h.ID), slog.Any("error", err))
		return
	}
	for life := range maxLives {
		if ctx.Err() != nil {
			return
		}
		asks, asked, err := b.store(ctx, h, &q, life)
		if err != nil {
			if ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "only opencode asks this", slog.String("request", h.ID), slog.Any("error", err))
			} else if asked.ID != "" {
				b.withdraw(ctx, asks, asked.ID) // it may be there
			}
			return
		}
		o, err := b.wait(ctx, &q, asked)
		if err != nil {
			b.withdraw(ctx, asks, asked.ID)
			return
		}
		if o.Status == ask.StatusWithdrawn && o.Reason != errDecided.Error() && o.Reason != errLeft.Error() {
			continue // by a bridge that was stopped, or for one that was killed; opencode still asks
		}
		b.deliver(ctx, h, &q, &o)
		return
	}
}

func (b *bridge) read(ctx context.Context, r *request) (q asking, err error) {
	if r.permit {
		tool, input, missing := b.server.arguments(ctx, r)
		if missing != nil {
			b.opts.Logger.WarnContext(ctx, "the arguments of a call are unknown", slog.String("request", r.ID), slog.Any("error", missing))
		}
		lasting := b.who.MinProof != "" && ask.By{Proof: b.who.MinProof}.Proves(ask.ProofOS)
		q, err = r.permission(tool, input, lasting, lang.Of(b.who.Language))
		q.ask.MinProof = b.who.MinProof
	} else {
		q, err = r.question()
	}
	a := &q.ask
	a.Tenant, a.Session, a.Agent, a.WhileWaiting = b.who.Tenant, b.who.Session(r.dir), b.who.Agent, !b.who.Outlive
	if a.Timeout == 0 && a.Deadline.IsZero() {
		a.Timeout = b.who.Timeout
	}
	if b.who.Work != nil {
		b.who.Work(r.dir, &a.Agent)
	}
	return q, err
}

// store stores the ask, or finds it: that of another bridge of this server, or of an earlier process. It waits for a bus that
// cannot be reached.
func (b *bridge) store(ctx context.Context, h *held, q *asking, life int) (asks client.Session, asked client.Asked, err error) {
	from := sameask.Origin{Call: h.ID, Run: b.server.name(), Place: []string{h.Session, strconv.Itoa(life)}, Permission: h.permit, Waits: true}
	for try := 0; ; try++ {
		asks, err = b.open.Open(ctx, q.ask.Tenant, q.ask.Session)
		if err == nil {
			limited, cancel := context.WithTimeout(ctx, patience)
			q.ask.ID = ""
			if err = sameask.Upload(limited, asks, q.prompt.Files); err == nil {
				asked, err = sameask.Ask(limited, asks, &q.ask, from)
			}
			cancel()
			asked.ID = q.ask.ID
		}
		if err == nil || ctx.Err() != nil || !errors.Is(err, ask.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ask.ErrQuota) {
			return asks, asked, err
		}
		if try == 0 {
			b.opts.Logger.WarnContext(ctx, "the bus cannot be asked yet", slog.Any("error", err))
		}
		if backoff.Wait(ctx, b.opts.Retry, try) != nil {
			return asks, asked, err
		}
	}
}

func (b *bridge) wait(ctx context.Context, q *asking, asked client.Asked) (ask.Outcome, error) {
	if b.opts.Waiting != nil {
		defer b.opts.Waiting(&q.ask)()
	}
	return asked.Wait(ctx)
}

// deliver tells opencode what people decided. It waits for a server that cannot be reached.
func (b *bridge) deliver(ctx context.Context, h *held, q *asking, o *ask.Outcome) {
	for try := 0; ; try++ {
		decided, err := b.server.decide(context.WithoutCancel(ctx), &h.request, q, o) // it counts, so nothing stops it
		switch {
		case err == nil && decided:
			return
		case err == nil:
			b.opts.Logger.InfoContext(ctx, "nobody decided here; only opencode asks now", slog.String("ask_id", q.ask.ID), slog.String("status", string(o.Status)))
			return
		case errors.Is(err, errGone):
			b.opts.Logger.WarnContext(ctx, "the answer came too late: it was decided or left in opencode before, or another bridge delivered it", slog.String("ask_id", q.ask.ID))
			return
		case try == 0:
			b.opts.Logger.WarnContext(ctx, "the answer cannot be delivered yet", slog.String("ask_id", q.ask.ID), slog.Any("error", err))
		}
		if backoff.Wait(ctx, b.opts.Retry, try) != nil {
			return
		}
	}
}

// withdraw withdraws an ask, with what ended ctx as its reason.
func (b *bridge) withdraw(ctx context.Context, asks client.Session, id string) {
	reason := errStopped.Error()
	if ctx.Err() != nil {
		reason = context.Cause(ctx).Error()
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, err := asks.Withdraw(limited, id, reason); err != nil && !errors.Is(err, ask.ErrResolved) && !errors.Is(err, ask.ErrNotFound) {
		b.opts.Logger.WarnContext(ctx, "the ask could not be withdrawn", slog.String("ask_id", id), slog.Any("error", err))
	}
}
