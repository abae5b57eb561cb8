package wsapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
)

// asker holds the asks of an agent's socket. All are stored at once; an agent's responses come in
// the order of its requests, because a host may have no other way to match them.
type asker struct {
	shape  shape
	open   map[ask.Key]string // unanswered asks with their agent
	ids    map[ask.Key]string // how the host names them: every frame has its own id
	order  map[string][]ask.Key
	done   map[ask.Key]waited // ended, but an earlier one of their agent has not
	before []string           // ids from an earlier connection, as the host names them
}

// waited is the result of a wait.
type waited struct {
	k   ask.Key
	o   ask.Outcome
	err error
}

// askerShape returns the shape in which an agent asks: the event pair, plain or typed. Frames of
// interact are for screens.
func askerShape(sh shape) shape {
	if sh == shapeInteract {
		return shapeEventPair
	}
	return sh
}

func newAsker(sh shape) *asker {
	return &asker{shape: askerShape(sh), open: map[ask.Key]string{}, ids: map[ask.Key]string{}, order: map[string][]ask.Key{}, done: map[ask.Key]waited{}}
}

// asks stores an agent's ask:question:request, and waits for its outcome in another goroutine.
func (s *socket) asks(ctx context.Context, data json.RawMessage, helpers *sync.WaitGroup) error {
	var head struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(data, &head) // the dialect reports a wrong one
	a, warnings, err := s.asker.shape.dialect().Ask(data)
	if err != nil {
		return s.complain(ctx, head.ID, err)
	}
	a.Tenant, a.Session = s.scope.tenant, cmp.Or(s.scope.session, ask.DefaultSession)
	warnings = append(warnings, dialect.ClipTimes(&a, s.server.opts.Now())...)
	agent := cmp.Or(a.Agent.ID, a.Session)
	if _, twice := s.asker.open[a.Key()]; !twice && len(s.asker.open) >= s.server.opts.MaxPerSocket {
		return s.complain(ctx, head.ID, ask.Refusal(ask.CodeQuota, ask.FaultTooManyAtOnce, s.server.opts.MaxPerSocket, "waiting_asks", "this_socket"))
	}
	st, err := s.server.asks.Store(ctx, &a, sameask.Origin{Waits: true}, "")
	if err != nil {
		return s.complain(ctx, cmp.Or(head.ID, a.ID), err)
	}
	k := a.Key()
	id := cmp.Or(head.ID, st.ID)
	for _, message := range st.Warnings {
		warnings = append(warnings, dialect.Warning{Message: message})
	}
	body, err := json.Marshal(struct {
		AgentID  string            `json:"agentId"`
		ID       string            `json:"id"`
		Deadline time.Time         `json:"deadline"`
		Queued   int               `json:"queued,omitempty"` // earlier unanswered asks of the agent
		Warnings []dialect.Warning `json:"warnings,omitempty"`
	}{agent, id, st.Deadline, s.asker.ahead(agent, k), warnings})
	if err != nil {
		return err
	}
	if err := s.send(ctx, framePending, body); err != nil {
		return err
	}
	if _, twice := s.asker.open[k]; !twice {
		s.await(ctx, st, k, id, agent, helpers)
	}
	return nil
}

// ahead counts the asks of an agent that are due before k.
func (one *asker) ahead(agent string, k ask.Key) int {
	if i := slices.Index(one.order[agent], k); i >= 0 {
		return i
	}
	return len(one.order[agent])
}

// begin waits for asks from an earlier connection.
func (s *socket) begin(ctx context.Context, helpers *sync.WaitGroup) {
	if s.asker == nil {
		return
	}
	for _, id := range s.asker.before {
		k := ask.Key{Tenant: s.scope.tenant, Session: s.scope.session, ID: ask.Token(id)}
		if _, open := s.asker.open[k]; !open && len(s.asker.open) < s.server.opts.MaxPerSocket {
			s.await(ctx, s.server.asks.Asked(k), k, id, k.String(), helpers) // in any order
		}
	}
	s.asker.before = nil
}

func (s *socket) await(ctx context.Context, asked client.Asked, k ask.Key, id, agent string, helpers *sync.WaitGroup) {
	s.asker.open[k], s.asker.ids[k] = agent, id
	s.asker.order[agent] = append(s.asker.order[agent], k)
	helpers.Go(func() {
		o, err := asked.Wait(ctx)
		if errors.Is(err, client.ErrClosed) {
			return // the gateway is stopping
		}
		select {
		case s.ended <- waited{k, o, err}:
		case <-ctx.Done():
		}
	})
}

// sendOutcome sends an agent its outcome, and the later ones that waited for it.
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
	id := s.asker.ids[w.k]
	delete(s.asker.ids, w.k)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.err != nil:
		return s.complain(ctx, id, w.err)
	case w.o.Ask != nil:
		s.server.asks.Delivered(ctx, w.k)
		return s.send(ctx, frameResponse, s.asker.shape.dialect().AnswerTo(w.o.Ask, &w.o, id).Body)
	}
	return nil
}
