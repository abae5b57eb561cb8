package responder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// ServeOptions tunes a [Server]. The zero value is ready to use.
type ServeOptions struct {
	WorkOptions
	// Every is the least time between two calls to one place, and Burst how many
	// may go at once before that holds; default 1 s and 3. A surface that runs
	// as several replicas gives each its share.
	Every time.Duration
	Burst int
	// CallLimit is the limit of one call of the [Presenter]; default 30 s.
	CallLimit time.Duration
	// Link says where people can answer an ask whatever its kind, such as its
	// page in the web inbox; default: nowhere.
	Link  func(k ask.Key) string
	Hooks Hooks
	Clock Clock // default: the real time
}

// Hooks are called when something happened, for metrics. Each may be nil; they
// are called concurrently and must return at once.
type Hooks struct {
	Presented func(took time.Duration, err error) // a call of Present ended
	Updated   func(took time.Duration, err error) // a call of Update ended
	Searched  func(found bool, err error)         // a call of Find ended
	Waited    func(place string, d time.Duration) // a call waited for its turn at a place
	Again     func(err error)                     // an item was put off, because of err
}

// Health is how a [Server] does.
type Health struct {
	Connected bool      // to the bus
	Serving   bool      // Run takes work
	UnderWay  int       // items
	Failing   int       // calls of the foreign service that failed in a row
	Since     time.Time // the first of those
	Err       error     // the last of those
}

// Server posts asks with a [Presenter]. Any number of replicas may serve one
// responder type; each ask is posted by one of them. It is safe for concurrent
// use.
//
// It promises: a receipt with the idempotency key is written before each post
// and one with the places after it, so a replica that takes over searches
// before it posts; what ended while it was being posted, or elsewhere, is
// updated; an ask that ended before it was posted is not posted. A crash
// between a post and its receipt leads to a second post only when Find does not
// find the first.
type Server struct {
	r       *Responder
	p       Presenter
	opts    ServeOptions
	limiter *limiter
	healing chan struct{} // holds one for each clicked post being updated
	running sync.WaitGroup

	mu       sync.Mutex
	stopping context.Context //nolint:containedctx // that of Run: ends what only waits
	closed   bool
	posted   map[string][]ask.Place // by key: posts whose receipt may be missing
	underWay int
	worked   time.Time // when a call last succeeded
	failing  Health
}

// Bounds of a server.
const (
	maxHealing = 64   // clicked posts that are updated at once; others wait for the outcome's own work
	maxPosted  = 1000 // posts remembered beside their receipts
)

// NewServer makes a server. It starts nothing; see [Server.Run]. The error says
// which argument is missing.
func NewServer(r *Responder, p Presenter, opts ServeOptions) (*Server, error) {
	if r == nil || p == nil {
		return nil, errors.New("responder: a server needs a responder and a presenter")
	}
	if opts.Every <= 0 {
		opts.Every = time.Second
	}
	if opts.Burst <= 0 {
		opts.Burst = 3
	}
	if opts.CallLimit <= 0 {
		opts.CallLimit = 30 * time.Second
	}
	if opts.Clock == nil {
		opts.Clock = wallClock{}
	}
	return &Server{
		r: r, p: p, opts: opts, limiter: newLimiter(opts.Clock, opts.Every, opts.Burst),
		healing: make(chan struct{}, maxHealing), posted: map[string][]ask.Place{},
	}, nil
}

// Serve posts asks with p until ctx ends: [NewServer] and [Server.Run].
func (r *Responder) Serve(ctx context.Context, p Presenter, opts ServeOptions) error {
	s, err := NewServer(r, p, opts)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// Run posts until ctx ends. Then it takes no more work, lets posts under way
// finish within [WorkOptions.Grace], hands the rest to other replicas, and
// returns nil. It returns early with the errors of [Responder.Work]. A server
// runs once.
func (s *Server) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.stopping != nil {
		s.mu.Unlock()
		return errors.New("responder: this server has run already; make another one")
	}
	s.stopping = ctx
	s.mu.Unlock()
	err := s.r.Work(ctx, s.handle, s.opts.WorkOptions)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// Health says how the server does.
func (s *Server) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.failing
	h.Connected = s.r.nc.Status() == nats.CONNECTED
	h.Serving = s.stopping != nil && !s.closed && s.stopping.Err() == nil
	h.UnderWay = s.underWay
	return h
}

// Answer sends what a person chose at a post. Its outcome and errors are those
// of [Responder.Answer]; an AnswerID that is derived from the click makes a
// double click one answer. Even if another answer was first, the post that was clicked
// then shows it: Update is called for it before anything else, also when the
// click came late or the post's receipt was lost. With [ask.ErrForbidden] and
// [ask.ErrInvalid] the ask stays open: tell the person why.
func (s *Server) Answer(ctx context.Context, k ask.Key, at ask.Place, reply ask.Reply) (ask.Outcome, error) {
	o, err := s.r.Answer(ctx, k, reply)
	s.clicked(k, at, o, err) //nolint:contextcheck // it outlives the click, and ends with Run
	return o, err
}

// Cancel declines an ask at a post, as Answer answers it.
func (s *Server) Cancel(ctx context.Context, k ask.Key, at ask.Place, d Decline) (ask.Outcome, error) {
	o, err := s.r.Cancel(ctx, k, d)
	s.clicked(k, at, o, err) //nolint:contextcheck // it outlives the click, and ends with Run
	return o, err
}

// clicked makes a post true that was clicked.
func (s *Server) clicked(k ask.Key, at ask.Place, o ask.Outcome, err error) {
	if err != nil {
		ended := endedBy(err)
		if ended == nil {
			return
		}
		o = *ended
	}
	s.mu.Lock()
	stopping := s.stopping
	if s.closed || stopping == nil {
		s.mu.Unlock()
		return
	}
	select {
	case s.healing <- struct{}{}:
	default:
		s.mu.Unlock()
		return // its outcome's own work updates it
	}
	s.running.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		defer func() { <-s.healing }()
		ctx, cancel := withGrace(stopping, s.opts.grace())
		defer cancel()
		e := s.ended(Item{Key: k, Outcome: &o}, []ask.Place{at})
		if o.Ask != nil {
			e.Ask = *o.Ask
		}
		if err := s.update(ctx, e, true); err != nil {
			s.r.opts.Logger.WarnContext(ctx, "could not update a post that was clicked", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
	}()
}

func (o *WorkOptions) grace() time.Duration {
	if o.Grace <= 0 {
		return 20 * time.Second
	}
	return o.Grace
}

// handle carries out one item.
func (s *Server) handle(ctx context.Context, it Item) error {
	s.count(1)
	defer s.count(-1)
	var err error
	if it.Outcome == nil {
		err = s.present(ctx, it)
	} else {
		err = s.retract(ctx, it)
	}
	if permanent, ok := errors.AsType[*PermanentError](err); ok {
		s.r.opts.Logger.ErrorContext(ctx, "gave up on a post", slog.String("ask_id", it.Key.ID), slog.Any("error", permanent))
		return nil
	}
	if err != nil && s.opts.Hooks.Again != nil {
		s.opts.Hooks.Again(err)
	}
	return err
}

func (s *Server) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay += n
}

func (s *Server) post(it Item) Post {
	p := Post{Key: PostKey(s.r.typ, it.Key, it.Life), Ask: it.Ask, Life: it.Life, AskedAt: it.AskedAt}
	p.Ask.Tenant, p.Ask.Session, p.Ask.ID = it.Key.Tenant, it.Key.Session, it.Key.ID
	if s.opts.Link != nil {
		p.Link = s.opts.Link(it.Key)
	}
	return p
}

func (s *Server) ended(it Item, places []ask.Place) Ended {
	return Ended{Post: s.post(it), Places: places, Outcome: *it.Outcome}
}

// remember keeps where something was posted until its receipt is written.
func (s *Server) remember(key string, places []ask.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.posted) >= maxPosted {
		for old := range s.posted { // any: Find still finds it
			delete(s.posted, old)
			break
		}
	}
	s.posted[key] = places
}

func (s *Server) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.posted, key)
}

func (s *Server) remembered(key string) []ask.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posted[key]
}

var errEnded = errors.New("the ask has ended")

// receipt records a state, and reports whether the ask has ended or is gone.
func (s *Server) receipt(ctx context.Context, it Item, state ask.ReceiptState, key string, places []ask.Place) (ended bool, err error) {
	status, err := s.r.receipt(ctx, it.Key, ask.Receipt{Life: it.Life, State: state, Key: key, Places: places})
	switch {
	case errors.Is(err, ask.ErrNotFound), errors.Is(err, ask.ErrInvalid): // past its retention, or another life of the id
		return true, fmt.Errorf("%w: %w", errEnded, err)
	case err != nil:
		return false, err
	}
	return status == ask.StateResolved, nil
}
