package wsapi

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
)

// asker is what an agent asked over its socket. All of it is stored at once;
// the responses of one agent come in the order of its requests, because a host
// may tell them apart by nothing else.
type asker struct {
	shape  shape
	open   map[ask.Key]string // asks that are not told yet, with their agent
	order  map[string][]ask.Key
	done   map[ask.Key]waited // ended before an earlier one of their agent
	before []ask.Key          // asked on an earlier connection
}

// waited is an ask whose wait is over.
type waited struct {
	k   ask.Key
	o   ask.Outcome
	err error
}

// newAsker makes an asker. An agent asks in the event pair, plain or typed: the
// frames of interact are for screens.
func newAsker(sh shape) *asker {
	if sh == shapeInteract {
		sh = shapeEventPair
	}
	return &asker{shape: sh, open: map[ask.Key]string{}, order: map[string][]ask.Key{}, done: map[ask.Key]waited{}}
}

// asks stores an ask:question:request of an agent, and waits for its outcome
// beside the loop.
func (s *socket) asks(ctx context.Context, data json.RawMessage, helpers *sync.WaitGroup) error {
	var head struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(data, &head) // an id that is none is not honoured
	a, warnings, err := s.asker.shape.dialect().Ask(data)
	if err != nil {
		return s.complain(ctx, head.ID, err)
	}
	a.Tenant, a.Session = s.scope.tenant, orElse(s.scope.session, ask.DefaultSession)
	warnings = append(warnings, dialect.ClipTimes(&a, s.server.opts.Now())...)
	if head.ID != "" {
		a.ID = ask.Token(head.ID)
	} else if err := s.server.asks.Name(&a); err != nil {
		return s.complain(ctx, "", err)
	}
	agent, k := orElse(a.Agent.ID, a.Session), a.Key()
	if _, twice := s.asker.open[k]; !twice && len(s.asker.open) >= s.server.opts.MaxPerSocket {
		return s.complain(ctx, a.ID, ask.Refuse(ask.CodeQuota, "%d asks wait on this socket, which is as many as one may have", s.server.opts.MaxPerSocket))
	}
	st, err := s.server.asks.Store(ctx, a, "")
	if err != nil {
		return s.complain(ctx, a.ID, err)
	}
	for _, message := range st.Warnings {
		warnings = append(warnings, dialect.Warning{Message: message})
	}
	body, err := json.Marshal(struct {
		AgentID  string            `json:"agentId"`
		ID       string            `json:"id"`
		Deadline time.Time         `json:"deadline"`
		Queued   int               `json:"queued,omitempty"` // of its agent, asked before and not answered yet
		Warnings []dialect.Warning `json:"warnings,omitempty"`
	}{agent, st.ID, st.Deadline, s.asker.ahead(agent, k), warnings})
	if err != nil {
		return err
	}
	if err := s.send(ctx, framePending, body); err != nil {
		return err
	}
	if _, twice := s.asker.open[k]; !twice {
		s.await(ctx, k, agent, helpers)
	}
	return nil
}

// ahead is how many asks of an agent are told before k.
func (one *asker) ahead(agent string, k ask.Key) int {
	if i := slices.Index(one.order[agent], k); i >= 0 {
		return i
	}
	return len(one.order[agent])
}

// begin waits for what was asked on an earlier connection.
func (s *socket) begin(ctx context.Context, helpers *sync.WaitGroup) {
	if s.asker == nil {
		return
	}
	for _, k := range s.asker.before {
		if _, open := s.asker.open[k]; !open && len(s.asker.open) < s.server.opts.MaxPerSocket {
			s.await(ctx, k, k.String(), helpers) // in no order
		}
	}
	s.asker.before = nil
}

func (s *socket) await(ctx context.Context, k ask.Key, agent string, helpers *sync.WaitGroup) {
	s.asker.open[k] = agent
	s.asker.order[agent] = append(s.asker.order[agent], k)
	helpers.Go(func() {
		o, err := s.server.asks.Outcome(ctx, k)
		if errors.Is(err, client.ErrClosed) {
			return // the gateway drains
		}
		select {
		case s.ended <- waited{k, o, err}:
		case <-ctx.Done():
		}
	})
}

// sendOutcome gives an agent its answer, and those that waited for it.
func (s *socket) sendOutcome(ctx context.Context, w waited) error {
	one := s.asker
	agent := one.open[w.k]
	one.done[w.k] = w
	for len(one.order[agent]) > 0 {
		first, ended := one.done[one.order[agent][0]]
		if !ended {
			return nil
		}
		delete(one.done, first.k)
		delete(one.open, first.k)
		one.order[agent] = one.order[agent][1:]
		if err := s.sendOutcomeTo(ctx, first); err != nil {
			return err
		}
	}
	delete(one.order, agent)
	return nil
}

func (s *socket) sendOutcomeTo(ctx context.Context, w waited) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.err != nil:
		return s.complain(ctx, w.k.ID, w.err)
	case w.o.Ask != nil:
		if err := s.send(ctx, frameResponse, s.asker.shape.dialect().Answer(w.o.Ask, &w.o).Body); err != nil {
			return err
		}
		s.server.asks.Told(w.k)
	}
	return nil
}
