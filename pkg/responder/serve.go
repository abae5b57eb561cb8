package responder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/pkg/ask"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
)

// ServeOptions tunes a [Server]. The zero value is ready to use.
type ServeOptions struct {
	WorkOptions
	// Every is the minimum time between two calls to one place, and Burst how
	// many calls are exempt at first; default 1 s and 3.
	Every time.Duration
	Burst int
	// Account names to what the foreign service's limits belong, such as the id of a bot. The living
	// replicas of this type that give the same one share the limits: each takes its part of every
	// pace, and the part of one that stops or dies within half a minute. Only a hash of it is stored.
	// Default: each replica has the limits for itself.
	Account string
	// Limiter is for a presenter that makes several calls for one of the kit's, with limits of their
	// own: it waits for the turn of each itself, with this limiter, and pauses it when the service
	// refuses. Every and Burst then have no effect. Default: one turn at each place for
	// each call of the presenter.
	Limiter *Limiter
	// Default returns the place of asks without a route of their own: one that tries out another place ([ask.TryOut])
	// is not posted. Nil: none that tries out a place is.
	Default func() string
	// CallLimit is the limit of one call of the [Presenter]; default 30 s.
	CallLimit time.Duration
	// Link returns where people can answer any kind of ask, such as its page in
	// the web inbox; default: nowhere.
	Link  func(k ask.Key) string
	Clock Clock // default: the real time
}

// Health describes the state of a [Server].
type Health struct {
	Connected bool      // to the bus
	UnderWay  int       // items
	Failing   int       // consecutive failed calls of the foreign service
	Since     time.Time // the first of those
	Err       error     // the last of those
}

// Server posts asks with a [Presenter]. Any number of replicas may serve one
// responder type; each ask is posted by one of them. It is safe for concurrent
// use.
//
// It writes a receipt with the idempotency key before each post and one with
// the places after it, so that a replica that takes over searches before it
// posts. It updates a post whose ask ended during posting or elsewhere, and
// does not post an ask that has already ended. A crash between a post and its
// receipt leads to a second post only if Find does not find the first.
type Server struct {
	r       *Responder
	p       Presenter
	opts    ServeOptions
	limiter *Limiter
	beat    time.Duration // of replicas with the same account
	healing chan struct{} // holds one for each clicked post being updated
	running sync.WaitGroup
	posted  *lru.Cache[string, []ask.Place] // by key: posts whose receipt may be missing; Find finds those that fell out

	mu        sync.Mutex
	stopping  context.Context //nolint:containedctx // of Run: ends the waits
	closed    bool
	posts     map[string]bool // by key: posts that are being made
	refreshes map[string]bool // by key: posts whose votes are being drawn; true: there are newer ones
	underWay  int
	worked    time.Time // when a call last succeeded
	failing   Health
}

// Bounds of a server.
const (
	maxHealing = 64   // clicked posts updated at once; others wait for the work for their outcome
	maxPosted  = 1000 // posts remembered until their receipts are written
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
	limiter := opts.Limiter
	if limiter == nil {
		limiter = NewLimiter(opts.Clock, func(string) Pace { return Pace{opts.Every, opts.Burst} })
	}
	posted, err := lru.New[string, []ask.Place](maxPosted)
	if err != nil {
		return nil, fmt.Errorf("responder: %w", err)
	}
	return &Server{
		r: r, p: p, opts: opts, limiter: limiter, beat: replicaBeat,
		healing: make(chan struct{}, maxHealing), posted: posted, refreshes: map[string]bool{}, posts: map[string]bool{},
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

// Run posts until ctx ends. Then it takes no more work, lets running posts
// finish within [WorkOptions.Grace], leaves the rest to other replicas, and
// returns nil. It returns early with the errors of [Responder.Work]. A server
// runs once.
func (s *Server) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.stopping != nil {
		s.mu.Unlock()
		return errors.New("responder: this server has already run; make another one")
	}
	s.stopping = ctx
	s.mu.Unlock()
	share, leave := context.WithCancel(context.WithoutCancel(ctx)) // it posts until Work returns
	var sharing sync.WaitGroup
	sharing.Go(func() { s.shareLimits(share) })
	err := s.r.Work(ctx, s.handle, s.opts.WorkOptions)
	leave()
	sharing.Wait()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// Health returns the state of the server.
func (s *Server) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.failing
	h.Connected = s.r.nc.Status() == nats.CONNECTED
	h.UnderWay = s.underWay
	return h
}

// Answer sends a person's choice at a post. Its outcome and errors are those of
// [Responder.Answer]; an AnswerID that is derived from the click makes a double
// click one answer. The clicked post then shows the outcome, even if another
// answer was first: Update is called for it before anything else, even if the
// click came late or the post's receipt was lost. With [ask.ErrForbidden] and
// [ask.ErrInvalid] the ask stays open: tell the person why.
func (s *Server) Answer(ctx context.Context, k ask.Key, at ask.Place, reply ask.Reply) (ask.Outcome, error) {
	o, err := s.r.Answer(ctx, k, reply)
	s.clicked(k, at, o, err) //nolint:contextcheck // outlives the click, ends with Run
	return o, err
}

// Cancel declines an ask at a post, as Answer answers it.
func (s *Server) Cancel(ctx context.Context, k ask.Key, at ask.Place, d Decline) (ask.Outcome, error) {
	o, err := s.r.Cancel(ctx, k, d)
	s.clicked(k, at, o, err) //nolint:contextcheck // outlives the click, ends with Run
	return o, err
}

// Correct makes a post show how its ask ended, before anything else: for a post that was clicked although its ask
// had ended. It does nothing for a pending ask.
func (s *Server) Correct(rec ask.Record, at ask.Place) {
	if rec.Outcome == nil {
		return
	}
	o := *rec.Outcome
	o.Ask = &rec.Ask
	s.clicked(rec.Ask.Key(), at, o, nil)
}

// clicked updates a post that was clicked.
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
		return // the work for its outcome updates it
	}
	s.running.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		defer func() { <-s.healing }()
		ctx, cancel := connection.WithGrace(stopping, s.opts.grace())
		defer cancel()
		it := Item{Key: k, Outcome: &o}
		if rec, err := s.r.Get(ctx, k); err == nil && rec.Outcome != nil { // an outcome does not say of which life it is
			it.Life, it.AskedAt = rec.Life, rec.AskedAt
		}
		e := s.ended(it, []ask.Place{at})
		if o.Ask != nil {
			e.Ask = *o.Ask
		}
		if err := s.update(ctx, e, true); err != nil {
			s.r.opts.Logger.WarnContext(ctx, "cannot update a clicked post", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
	}()
}

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

// beginPost reports whether nobody in this process posts an ask.
func (s *Server) beginPost(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := s.posts[key]
	s.posts[key] = true
	return !busy
}

func (s *Server) endPost(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.posts, key)
}

var errEnded = errors.New("the ask has ended")

// receipt records a state, and reports whether the ask has ended or is gone.
func (s *Server) receipt(ctx context.Context, it Item, state ask.ReceiptState, key string, places []ask.Place) (ended bool, err error) {
	status, err := s.r.receipt(ctx, it.Key, ask.Receipt{Life: it.Life, State: state, Key: key, Places: places, Step: it.step()})
	switch {
	case errors.Is(err, ask.ErrNotFound), errors.Is(err, ask.ErrInvalid): // past its retention, or another life of the id
		return true, fmt.Errorf("%w: %w", errEnded, err)
	case err != nil:
		return false, err
	}
	return status == ask.StateResolved, nil
}
