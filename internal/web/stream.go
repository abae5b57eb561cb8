package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/responder"
)

// streams counts the live browsers, and those with somebody at them. While
// there is one of these, this surface is present.
type streams struct {
	present func(tenant, session string) (func(), error)
	max     int
	log     *slog.Logger
	ended   chan struct{} // closed when the server drains
	looked  chan struct{} // holds a signal when somebody starts to look
	running sync.WaitGroup

	mu     sync.Mutex
	n      int // live
	here   int // of them, with somebody at them
	closed bool
	leave  func()
	asking bool // a call of present is under way
}

func newStreams(most int, present func(string, string) (func(), error), log *slog.Logger) *streams {
	return &streams{present: present, max: most, log: log, ended: make(chan struct{}), looked: make(chan struct{}, 1)}
}

func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.n >= s.max {
		return false
	}
	s.running.Add(1)
	s.n++
	return true
}

// arrive says that somebody is at one of the live browsers.
func (s *streams) arrive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here++
	if s.leave == nil && !s.asking {
		s.asking = true
		s.running.Go(s.declare)
	}
	select {
	case s.looked <- struct{}{}:
	default:
	}
}

// depart says that nobody is at a browser any more for which arrive was called.
func (s *streams) depart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here--
	if s.here == 0 && s.leave != nil {
		s.leave()
		s.leave = nil
	}
}

// declare says that somebody looks. It has a goroutine of its own, because the
// bus may be slow and no page waits for it.
func (s *streams) declare() {
	leave, err := s.present("", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	switch {
	case err != nil:
		s.log.Warn("cannot declare that somebody looks", slog.Any("error", err))
	case s.here == 0:
		leave() // they have gone again
	default:
		s.leave = leave
	}
}

func (s *streams) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	s.running.Done()
}

func (s *streams) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.here > 0
}

// close ends all streams and waits for them.
func (s *streams) close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.ended)
	}
	s.mu.Unlock()
	s.running.Wait()
}

// proxiedStream is how long a stream lives that no session can end: the page
// connects again, and is checked again.
const proxiedStream = 5 * time.Minute

// watch closes ended when the request's person is signed out.
func (s *Server) watch(r *http.Request) (ended <-chan struct{}, stop func()) {
	if s.opts.Proxy.vouches(r) {
		ctx, cancel := context.WithTimeout(r.Context(), proxiedStream)
		return ctx.Done(), cancel
	}
	id, _ := s.sessionID(r)
	return s.opts.Sessions.Watch(id)
}

// events is a browser's stream. It carries no content, only that the board has
// changed: a page that missed something, or is slow, fetches once and is right again.
func (s *Server) events(w http.ResponseWriter, r *http.Request, me responder.Viewer) {
	if !s.streams.enter() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many live pages are open", http.StatusServiceUnavailable)
		return
	}
	defer s.streams.exit()
	stays := staying(r, s.opts.Now())
	if stays > 0 {
		s.streams.arrive()
	}
	left := time.NewTimer(stays)
	defer left.Stop()
	here := stays > 0
	defer func() {
		if here {
			s.streams.depart()
		}
	}()
	changed, stop := s.board.Changes(responder.Filter{Viewer: me})
	defer stop()
	signedOut, leave := s.watch(r)
	defer leave()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	send := func(text string) bool {
		// A browser that does not read must not hold the stream for ever. Not
		// every ResponseWriter of a test has deadlines.
		_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	if !send("retry: 1000\nevent: hello\ndata: {}\n\n") {
		return
	}
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for {
		text := ": hb\n\n"
		select {
		case <-r.Context().Done():
			return
		case <-s.streams.ended:
			return
		case <-signedOut:
			return // the page connects again, and is told
		case <-changed:
			text = "event: change\ndata: {}\n\n"
		case <-left.C:
			if here {
				here = false
				s.streams.depart()
			}
			continue
		case <-beat.C:
		}
		if _, err := s.whoIs(r, false); err != nil || !send(text) {
			return // the session has ended, or the browser is gone
		}
	}
}
