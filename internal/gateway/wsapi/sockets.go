package wsapi

import (
	"sync"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// scope is which asks a socket is about; an empty session means every one of
// the tenant.
type scope struct{ tenant, session string }

// sockets are the live WebSockets: who is told what, and how many there may be.
type sockets struct {
	server *Server

	mu       sync.Mutex
	byScope  map[scope]map[*socket]struct{} // screens, by what they see
	tokens   map[string]int                 // sockets by token id
	total    int
	done     bool
	running  sync.WaitGroup
	presence *presence
}

func newSockets(server *Server) *sockets {
	return &sockets{
		server: server, byScope: map[scope]map[*socket]struct{}{}, tokens: map[string]int{},
		presence: &presence{declare: server.resp.Present, log: server.opts.Logger, at: map[scope]*attending{}},
	}
}

// enter counts a socket in, or says why there may be no more.
func (s *sockets) enter(tokenID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done:
		return ask.Refuse(ask.CodeUnavailable, "this gateway is going down; connect again")
	case s.total >= s.server.opts.MaxSockets:
		return ask.Refuse(ask.CodeUnavailable, "%d sockets are open, which is as many as this gateway takes", s.total)
	case s.tokens[tokenID] >= s.server.opts.MaxPerToken:
		return ask.Refuse(ask.CodeQuota, "%d sockets are open with this token, which is as many as one token may have", s.tokens[tokenID])
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

// watch tells a screen what happens from now on, and declares that a person is
// there, until leave is called.
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

// publish passes on what the board says, to those whom it concerns. It waits for
// nobody.
func (s *sockets) publish(ev responder.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch ev.Kind {
	case responder.Reset: // everything is told again
		for _, set := range s.byScope {
			for one := range set {
				one.stale()
			}
		}
	case responder.Offline, responder.Synced, responder.Changed:
	case responder.Pending, responder.Resolved:
		a := &ev.Record.Ask
		for _, at := range []scope{{a.Tenant, a.Session}, {a.Tenant, ""}} {
			for one := range s.byScope[at] {
				one.push(ev.Record)
			}
		}
	}
}

// close ends every socket and waits for them.
func (s *sockets) close() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.running.Wait() // they see that the gateway drains
	s.presence.close()
}
