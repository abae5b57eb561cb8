package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/askbus/askbus/pkg/responder"
)

// screen is what a foreign screen shows. It holds keys, not questions: those
// are read when they are needed, so that an idle screen costs nothing.
type screen struct {
	shape  shape
	cards  map[ask.Key]*card
	before []ask.Key // had open on an earlier connection
	more   bool      // there were more than it may show
}

// card is one ask at a screen.
type card struct {
	seq     uint64
	agent   string             // D1 and D2: one ask is open for an agent
	queued  bool               // D1 and D2: not shown yet, another one of its agent is
	answers map[int]ask.Answer // D4: by question, until all are there
}

func newScreen(sh shape) *screen { return &screen{shape: sh, cards: map[ask.Key]*card{}} }

// show tells the client what happened.
func (s *socket) show(ctx context.Context) error {
	queue, dirty := s.take()
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

// readAll reads what is pending, page by page as fast as the client takes it,
// and tells the difference to what it shows.
func (s *socket) readAll(ctx context.Context) error {
	s.screen.more = false
	seen := map[ask.Key]bool{}
	q := responder.Query{Tenant: s.scope.tenant, Session: s.scope.session, State: ask.StatePending}
	for rec, err := range s.g.resp.All(ctx, q) {
		if err != nil {
			return s.later(ctx, err)
		}
		seen[rec.Ask.Key()] = true
		if err := s.present(ctx, &rec); err != nil {
			return err
		}
		if s.screen.more {
			break
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
		rec, err := s.g.resp.Get(ctx, k)
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

// later reads again when the bus may be back.
func (s *socket) later(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.g.opts.Logger.WarnContext(ctx, "cannot read what is pending for a socket; trying again", slog.Any("error", err))
	time.AfterFunc(time.Second, s.stale)
	return nil
}

// present shows an ask, once in each of its lives.
func (s *socket) present(ctx context.Context, rec *ask.Record) error {
	k := rec.Ask.Key()
	if held := s.screen.cards[k]; held != nil && (held.seq == rec.Seq || rec.Seq == 0) {
		return nil
	}
	if len(s.screen.cards) >= s.g.opts.MaxPerSocket {
		s.screen.more = true
		return nil
	}
	one := &card{seq: rec.Seq}
	if s.screen.shape != shapeD4 {
		one.agent = orElse(rec.Ask.Agent.ID, rec.Ask.Session)
		one.queued = s.screen.open(one.agent) != nil
	}
	s.screen.cards[k] = one
	if one.queued {
		return nil
	}
	return s.request(ctx, &rec.Ask, nil)
}

// open is the ask of an agent that a screen shows.
func (s *screen) open(agent string) *ask.Key {
	for k, c := range s.cards {
		if c.agent == agent && !c.queued {
			return &k
		}
	}
	return nil
}

// request sends the frames of an ask, or only those of the questions at fault.
func (s *socket) request(ctx context.Context, a *ask.Ask, only map[string]bool) error {
	switch s.screen.shape {
	case shapeD1:
		body, _ := dialect.D1Show(a)
		return s.send(ctx, dialect.D1Request, body)
	case shapeD2:
		body, _ := dialect.D2Show(a)
		return s.send(ctx, dialect.D1Request, body)
	case shapeD4:
	}
	frames, _ := dialect.D4Frames(a)
	for i, body := range frames {
		if len(only) > 0 && !only[a.Questions[i].ID] {
			continue
		}
		if err := s.send(ctx, dialect.D4Request, body); err != nil {
			return err
		}
	}
	return nil
}

// dismiss tells the client that an ask has ended, if it may show it.
func (s *socket) dismiss(ctx context.Context, rec *ask.Record, always bool) error {
	k := rec.Ask.Key()
	held := s.screen.cards[k]
	delete(s.screen.cards, k)
	if held == nil && !always {
		return nil
	}
	if s.screen.more {
		s.stale() // there is room now
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
	typ, o := dialect.D4Closed, rec.Outcome
	var bodies [][]byte
	switch {
	case o == nil:
		typ, bodies = s.screen.closedFrame(), [][]byte{closedBody(&rec.Ask, "gone", "")}
	case s.screen.shape == shapeD4:
		bodies = dialect.D4Close(&rec.Ask, o)
	default:
		by := ""
		if o.By != nil {
			by = orElse(o.By.Name, o.By.Principal)
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
	if s.shape == shapeD4 {
		return dialect.D4Closed
	}
	return frameClosed
}

func closedBody(a *ask.Ask, status, by string) []byte {
	body, _ := json.Marshal(struct { // strings can be written
		AgentID string `json:"agentId"`
		ID      string `json:"id"`
		Status  string `json:"status"`
		By      string `json:"by,omitempty"`
	}{orElse(a.Agent.ID, a.Session), a.ID, status, by})
	return body
}

// next shows the next ask of an agent, the oldest first.
func (s *socket) next(ctx context.Context, agent string) error {
	for {
		var at ask.Key
		var first *card
		for k, c := range s.screen.cards {
			if c.agent == agent && c.queued && (first == nil || c.seq < first.seq) {
				at, first = k, c
			}
		}
		if first == nil {
			return nil
		}
		rec, err := s.g.resp.Get(ctx, at)
		if err != nil && !errors.Is(err, ask.ErrNotFound) {
			delete(s.screen.cards, at)
			return s.later(ctx, err)
		}
		if err != nil || rec.State != ask.StatePending {
			delete(s.screen.cards, at)
			continue
		}
		first.queued = false
		return s.request(ctx, &rec.Ask, nil)
	}
}

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}
