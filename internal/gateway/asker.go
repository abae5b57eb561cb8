package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
)

// asker is what an agent asked over its socket. One ask is open for each of
// its agents; further ones queue.
type asker struct {
	shape   shape
	open    map[ask.Key]string // asks that are waited for, with their agent
	queue   []request
	before  []ask.Key // asked on an earlier connection
	waiting map[string]bool
}

// request is an ask that waits for its turn.
type request struct {
	agent    string
	ask      ask.Ask
	warnings []dialect.Warning
}

// waited is an ask whose wait is over.
type waited struct {
	k   ask.Key
	o   ask.Outcome
	err error
}

func newAsker(sh shape) *asker {
	return &asker{shape: sh, open: map[ask.Key]string{}, waiting: map[string]bool{}}
}

// asks takes an ask:question:request of an agent.
func (s *socket) asks(ctx context.Context, data json.RawMessage, helpers *sync.WaitGroup) error {
	read := dialect.D1Ask
	if s.asker.shape == shapeD2 {
		read = dialect.D2Ask
	}
	a, warnings, err := read(data)
	if err != nil {
		return s.complain(ctx, "", err)
	}
	var head struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(data, &head) // an id that is none is not honoured
	a.Tenant, a.Session = s.scope.tenant, orElse(s.scope.session, ask.DefaultSession)
	warnings = append(warnings, dialect.ClipTimes(&a, s.g.opts.Now())...)
	if head.ID != "" {
		a.ID = ask.Token(head.ID)
	} else if err := s.g.again.name(&a); err != nil {
		return s.complain(ctx, "", err)
	}
	one := request{a.Agent.ID, a, warnings}
	switch {
	case len(s.asker.open)+len(s.asker.queue) >= s.g.opts.MaxPerSocket:
		return s.complain(ctx, a.ID, ask.Refuse(http.StatusTooManyRequests, ask.CodeQuota, "%d asks wait on this socket, which is as many as one may have", s.g.opts.MaxPerSocket))
	case s.asker.waiting[one.agent]:
		s.asker.queue = append(s.asker.queue, one)
		return nil
	}
	return s.start(ctx, one, helpers)
}

// start stores an ask and waits for its outcome beside the loop.
func (s *socket) start(ctx context.Context, one request, helpers *sync.WaitGroup) error {
	st, err := s.g.store(ctx, one.ask, "")
	if err != nil {
		return s.complain(ctx, one.ask.ID, err)
	}
	for _, message := range st.Warnings {
		one.warnings = append(one.warnings, dialect.Warning{Message: message})
	}
	body, err := json.Marshal(struct {
		AgentID  string            `json:"agentId"`
		ID       string            `json:"id"`
		Deadline time.Time         `json:"deadline"`
		Warnings []dialect.Warning `json:"warnings,omitempty"`
	}{one.agent, st.ID, st.Deadline, one.warnings})
	if err != nil {
		return err
	}
	if err := s.send(ctx, framePending, body); err != nil {
		return err
	}
	s.asker.waiting[one.agent] = true
	s.await(ctx, one.ask.Key(), one.agent, helpers)
	return nil
}

// begin waits for what was asked on an earlier connection.
func (s *socket) begin(ctx context.Context, helpers *sync.WaitGroup) {
	if s.asker == nil {
		return
	}
	for _, k := range s.asker.before {
		if _, open := s.asker.open[k]; !open && len(s.asker.open) < s.g.opts.MaxPerSocket {
			s.await(ctx, k, "", helpers)
		}
	}
	s.asker.before = nil
}

func (s *socket) await(ctx context.Context, k ask.Key, agent string, helpers *sync.WaitGroup) {
	s.asker.open[k] = agent
	helpers.Go(func() {
		o, err := s.g.outcome(ctx, k)
		if errors.Is(err, client.ErrClosed) {
			return // the gateway drains
		}
		select {
		case s.ended <- waited{k, o, err}:
		case <-ctx.Done():
		}
	})
}

// tellEnd gives an agent its answer, and takes its next ask.
func (s *socket) tellEnd(ctx context.Context, w waited, helpers *sync.WaitGroup) error {
	agent := s.asker.open[w.k]
	delete(s.asker.open, w.k)
	delete(s.asker.waiting, agent)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.err != nil:
		if err := s.complain(ctx, w.k.ID, w.err); err != nil {
			return err
		}
	case w.o.Ask != nil:
		write := dialect.D1Answer
		if s.asker.shape == shapeD2 {
			write = dialect.D2Answer
		}
		if err := s.send(ctx, dialect.D1Response, write(w.o.Ask, &w.o).Body); err != nil {
			return err
		}
		s.g.again.told(w.k)
	}
	for !s.asker.waiting[agent] {
		i := slices.IndexFunc(s.asker.queue, func(r request) bool { return r.agent == agent })
		if i < 0 {
			return nil
		}
		one := s.asker.queue[i]
		s.asker.queue = slices.Delete(s.asker.queue, i, i+1)
		if err := s.start(ctx, one, helpers); err != nil {
			return err
		}
	}
	return nil
}
