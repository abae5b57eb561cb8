package wsapi

import (
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// scope is the asks that a socket sees; an empty session means all of the tenant.
type scope struct{ tenant, session string }

// sockets are the open WebSockets: which events they get, and how many there may be.
type sockets struct {
	server *Server

	mu       sync.Mutex
	byScope  map[scope]map[*socket]struct{} // screens by scope
	tokens   map[string]int                 // sockets by token id
	opened   *ratelimit.PerMinute           // new sockets by token id
	total    int
	done     bool
	running  sync.WaitGroup
	presence *presence
}

func newSockets(server *Server) *sockets {
	return &sockets{
		server: server, byScope: map[scope]map[*socket]struct{}{}, tokens: map[string]int{}, opened: ratelimit.NewOpen(server.opts.PerMinute),
		presence: &presence{declare: server.resp.Present, log: server.opts.Logger, at: map[scope]*attending{}},
	}
}

// enter counts a new socket, or returns why there may be no more.
func (s *sockets) enter(tokenID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done:
		return ask.Refusal(ask.CodeUnavailable, ask.FaultStopping)
	case s.total >= s.server.opts.MaxSockets:
		return ask.Refusal(ask.CodeUnavailable, ask.FaultTooManyAtOnce, s.total, "sockets", "this_gateway")
	case s.tokens[tokenID] >= s.server.opts.MaxPerToken:
		return ask.Refusal(ask.CodeQuota, ask.FaultTooManyAtOnce, s.tokens[tokenID], "sockets", "this_token")
	case !s.opened.Take(tokenID, time.Now()):
		return ask.Refusal(ask.CodeQuota, ask.FaultTooManyAMinute, "this_token", s.server.opts.PerMinute, "sockets")
	}
	s.total++
	s.tokens[tokenID]++
	s.running.Add(1)
	return nil
}

func (s *sockets) exit(tokenID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.tokens[tokenID]--; s.tokens[tokenID] == 0 {
		delete(s.tokens, tokenID)
	}
	s.running.Done()
}

// watch sends a screen all events from now on and declares presence, until leave is called.
func (s *sockets) watch(one *socket) (leave func()) {
	s.mu.Lock()
	if s.byScope[one.scope] == nil {
		s.byScope[one.scope] = map[*socket]struct{}{}
	}
	s.byScope[one.scope][one] = struct{}{}
	s.mu.Unlock()
	s.presence.enter(one.scope)
	return func() {
		s.presence.leave(one.scope)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.byScope[one.scope], one)
		if len(s.byScope[one.scope]) == 0 {
			delete(s.byScope, one.scope)
		}
	}
}

// publish sends the board's event to the screens in its scope, without waiting.
func (s *sockets) publish(ev board.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch ev.Kind {
	case board.Reset: // all events are repeated
		for _, set := range s.byScope {
			for one := range set {
				one.stale()
			}
		}
	case board.Offline, board.Synced, board.Changed:
	case board.Pending, board.Resolved:
		a := &ev.Record.Ask
		for _, at := range []scope{{a.Tenant, a.Session}, {a.Tenant, ""}} {
			for one := range s.byScope[at] {
				one.push(ev.Record)
			}
		}
	}
}

// close closes every socket and waits for them.
func (s *sockets) close() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.running.Wait() // they watch drain
	s.presence.close()
}
