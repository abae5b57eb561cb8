package wsapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// screen is the state of a foreign screen. It holds keys and reads questions on demand, so that an
// idle screen needs no memory for them.
type screen struct {
	shape  shape
	cards  map[ask.Key]*onScreen
	ended  []ending  // the last ended asks, for replies to late answers
	before []ask.Key // open on an earlier connection
	more   bool      // there are more than it may show
}

// card is an ask on a screen.
type onScreen struct {
	life    string
	asked   time.Time
	agent   string             // event pair: only one ask per agent is open
	queued  bool               // event pair: not shown yet, because another of its agent is
	answers map[int]ask.Answer // interact: by question, until complete
}

// ending is an ask that a screen showed and that has ended.
type ending struct {
	key   ask.Key
	agent string
}

// maxEnded bounds the ended asks that a screen remembers.
const maxEnded = 256

// forget removes an ask from the screen and remembers it as ended.
func (s *screen) forget(k ask.Key) {
	held := s.cards[k]
	if held == nil {
		return
	}
	delete(s.cards, k)
	s.ended = append(s.ended, ending{k, held.agent})
	if len(s.ended) > maxEnded {
		s.ended = append([]ending(nil), s.ended[len(s.ended)-maxEnded:]...)
	}
}

// late returns the last shown ask to which a late answer belongs.
func (s *screen) late(is func(ending) bool) (ask.Key, bool) {
	for _, e := range slices.Backward(s.ended) {
		if is(e) {
			return e.key, true
		}
	}
	return ask.Key{}, false
}

func newScreen(sh shape) *screen { return &screen{shape: sh, cards: map[ask.Key]*onScreen{}} }

// show sends the client the queued events.
func (s *socket) show(ctx context.Context) error {
	queue, dirty := s.drain()
	if dirty {
		return s.readAll(ctx)
	}
	for i := range queue {
		var err error
		if queue[i].State == ask.StatePending {
			err = s.present(ctx, &queue[i])
		} else {
			err = s.dismiss(ctx, &queue[i], false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readAhead is how many asks are read at once for a screen.
const readAhead = 16

// readAll sends the difference between the pending asks and the shown ones. It reads a few asks at
// a time, as fast as the client accepts them.
func (s *socket) readAll(ctx context.Context) error {
	f := board.Filter{Tenant: s.scope.tenant, Session: s.scope.session}
	heads, total := s.server.board.Pending(f, 0, s.server.opts.MaxPerSocket)
	s.screen.more = total > len(heads)
	seen := make(map[ask.Key]bool, len(heads))
	for i := range heads {
		seen[heads[i].Key] = true
	}
	sort.Slice(heads, func(i, j int) bool { return heads[i].AskedAt.Before(heads[j].AskedAt) })
	for some := range slices.Chunk(heads, readAhead) {
		s.server.warm(ctx, some)
		for i := range some {
			rec := some[i].Record()
			if err := s.present(ctx, &rec); err != nil {
				return err
			}
		}
	}
	var gone []ask.Key
	for k := range s.screen.cards {
		if !seen[k] && !s.screen.more {
			gone = append(gone, k)
		}
	}
	for _, k := range s.screen.before {
		if s.screen.cards[k] == nil {
			gone = append(gone, k)
		}
	}
	s.screen.before = nil
	for _, k := range gone {
		rec, err := s.server.board.Get(ctx, k)
		switch {
		case errors.Is(err, ask.ErrNotFound):
			rec = ask.Record{State: ask.StateResolved, Ask: ask.Ask{ID: k.ID, Tenant: k.Tenant, Session: k.Session}}
		case err != nil:
			s.screen.before = append(s.screen.before, k)
			return s.later(ctx, err)
		case rec.State == ask.StatePending:
			continue
		}
		if err := s.dismiss(ctx, &rec, true); err != nil {
			return err
		}
	}
	return nil
}

// warm reads asks into the board's cache concurrently. Failures are retried when the ask is shown.
func (server *Server) warm(ctx context.Context, heads []board.Head) {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range heads {
		all.Go(func() { _, _ = server.board.Get(ctx, heads[i].Key) })
	}
}

// later schedules another read after an error of the bus.
func (s *socket) later(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.server.opts.Logger.WarnContext(ctx, "cannot read what is pending for a socket; trying again", slog.Any("error", err))
	time.AfterFunc(time.Second, s.stale)
	return nil
}

// present shows an ask, once in each of its lives. Rec is its head.
func (s *socket) present(ctx context.Context, rec *ask.Record) error {
	k := rec.Ask.Key()
	if held := s.screen.cards[k]; held != nil && (held.life == rec.Life || rec.Life == "") {
		return nil
	}
	if len(s.screen.cards) >= s.server.opts.MaxPerSocket {
		s.screen.more = true
		return nil
	}
	one := &onScreen{life: rec.Life, asked: rec.AskedAt}
	if s.screen.shape != shapeInteract {
		one.agent = cmp.Or(rec.Ask.Agent.ID, rec.Ask.Session)
		one.queued = s.screen.open(one.agent) != nil
	}
	s.screen.cards[k] = one
	if one.queued {
		return nil
	}
	return s.reveal(ctx, k)
}

// reveal shows the ask of a card. If it has ended meanwhile it removes the card.
func (s *socket) reveal(ctx context.Context, k ask.Key) error {
	one := s.screen.cards[k]
	rec, err := s.server.board.Get(ctx, k)
	switch {
	case err == nil && rec.State == ask.StatePending && (rec.Life == one.life || one.life == ""):
		one.queued = false
		return s.request(ctx, &rec.Ask, nil)
	case err != nil && !errors.Is(err, ask.ErrNotFound):
		delete(s.screen.cards, k)
		return s.later(ctx, err)
	}
	delete(s.screen.cards, k)
	if err == nil && rec.State == ask.StatePending {
		s.stale() // another life, which the board has as well
	}
	return nil
}

func (s *screen) open(agent string) *ask.Key {
	for k, c := range s.cards {
		if c.agent == agent && !c.queued {
			return &k
		}
	}
	return nil
}

// request sends the frames of an ask, or only those of invalid questions.
func (s *socket) request(ctx context.Context, a *ask.Ask, only map[string]bool) error {
	if s.screen.shape != shapeInteract {
		body, _ := s.screen.shape.dialect().ShowAt(a, s.server.opts.Link(a.Key()))
		return s.send(ctx, frameRequest, body)
	}
	var drawn []cardJSON
	if s.cards {
		drawn = cards(a, s.lang, s.server.opts.Link(a.Key()), s.server.opts.Now())
	}
	for i, body := range interactFrames(a, s.server.opts.Link(a.Key())) {
		if len(only) > 0 && !only[a.Questions[i].ID] {
			continue
		}
		if s.cards {
			body = withCard(body, &drawn[i])
		}
		if err := s.send(ctx, frameInteractRequest, body); err != nil {
			return err
		}
	}
	return nil
}

// dismiss tells the client that an ask has ended, if it may be shown.
func (s *socket) dismiss(ctx context.Context, rec *ask.Record, always bool) error {
	k := rec.Ask.Key()
	held := s.screen.cards[k]
	if held != nil && rec.Life != "" && held.life != "" && held.life != rec.Life {
		return nil // the id was asked again
	}
	s.screen.forget(k)
	if held == nil && !always {
		return nil
	}
	if s.screen.more {
		s.stale() // a place is free
	}
	if held == nil || !held.queued {
		if err := s.closed(ctx, rec); err != nil {
			return err
		}
	}
	if held == nil || held.agent == "" || held.queued {
		return nil
	}
	return s.next(ctx, held.agent)
}

func (s *socket) closed(ctx context.Context, rec *ask.Record) error {
	typ, o := frameInteractClosed, rec.Outcome
	var bodies [][]byte
	switch {
	case o == nil:
		typ, bodies = s.screen.closedFrame(), [][]byte{closedBody(&rec.Ask, "gone", "")}
	case s.screen.shape == shapeInteract:
		bodies = interactClosed(&rec.Ask, o)
	default:
		by := ""
		if o.By != nil {
			by = cmp.Or(o.By.Name, o.By.Principal)
		}
		typ, bodies = frameClosed, [][]byte{closedBody(&rec.Ask, string(o.Status), by)}
	}
	for _, body := range bodies {
		if err := s.send(ctx, typ, body); err != nil {
			return err
		}
	}
	return nil
}

func (s *screen) closedFrame() string {
	if s.shape == shapeInteract {
		return frameInteractClosed
	}
	return frameClosed
}

func closedBody(a *ask.Ask, status, by string) []byte {
	body, _ := json.Marshal(struct { // cannot fail: strings encode
		AgentID   string `json:"agentId"`
		ID        string `json:"id"`
		SessionID string `json:"sessionId"`
		Status    string `json:"status"`
		By        string `json:"by,omitempty"`
	}{cmp.Or(a.Agent.ID, a.Session), a.ID, a.Session, status, by})
	return body
}

// next shows the oldest queued ask of an agent.
func (s *socket) next(ctx context.Context, agent string) error {
	for s.screen.open(agent) == nil {
		var at ask.Key
		var first *onScreen
		for k, c := range s.screen.cards {
			if c.agent == agent && c.queued && (first == nil || c.asked.Before(first.asked)) {
				at, first = k, c
			}
		}
		if first == nil {
			return nil
		}
		if err := s.reveal(ctx, at); err != nil {
			return err
		}
	}
	return nil
}
