package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
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

// sender writes server-sent events to one browser, compressed where it takes
// that. Each is flushed.
type sender struct {
	w   http.ResponseWriter
	out *http.ResponseController
	zip *packed // nil: as they are
}

func newSender(w http.ResponseWriter) *sender {
	s := &sender{w: w, out: http.NewResponseController(w)}
	if _, takes := w.(packing); takes {
		w.Header().Set("Content-Encoding", "gzip")
		s.zip = &packed{}
	}
	return s
}

// write sends bytes that are ready for this stream.
func (s *sender) write(data []byte) bool {
	// A browser that does not read must not hold the stream for ever. Not
	// every ResponseWriter of a test has deadlines.
	_ = s.out.SetWriteDeadline(time.Now().Add(10 * time.Second))
	if _, err := s.w.Write(data); err != nil { //nolint:gosec // drawn by html/template
		return false
	}
	return s.out.Flush() == nil
}

func (s *sender) send(e *event) bool {
	if s.zip == nil {
		return s.write(e.data)
	}
	s.zip.add(e.data)
	return s.write(e.segment())
}

// begin says when a browser comes back that was cut off.
func (s *sender) begin() bool {
	if s.zip != nil && !s.write(s.zip.head()) {
		return false
	}
	return s.send(greeting())
}

// end closes the stream, so that a browser sees no broken one.
func (s *sender) end() {
	if s.zip != nil {
		s.write(s.zip.tail())
	}
}

// greeting, hello and heartbeat are the same for everybody.
//
//nolint:gochecknoglobals // made once, never changed
var (
	greeting  = sync.OnceValue(func() *event { return &event{data: []byte("retry: 1000\n\n")} })
	hello     = sync.OnceValue(func() *event { return &event{data: []byte("event: hello\ndata: {}\n\n")} })
	heartbeat = sync.OnceValue(func() *event { return &event{data: []byte(": hb\n\n")} })
)

// events is a browser's stream of what changes in its listing; see [feed]. The
// page says what it has, by a mark, and is told what changed since, or everything
// once; then hello; then what changes.
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
	f, leaveFeed := s.feeds.join(me, listingOf(r))
	defer leaveFeed()
	signedOut, leave := s.watch(r)
	defer leave()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := newSender(w)
	if !out.begin() {
		return
	}
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	seq, known, greeted := uint64(0), false, false
	mark := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("mark"))
	for {
		events, late, news := f.after(seq)
		if !known && (late || f.drawn()) { // the feed has begun: where is this page?
			known, seq = true, f.begin(mark)
			events, late, news = f.after(seq)
		}
		if late {
			events = []*event{f.everything(r.Context())}
		}
		if known && !greeted {
			events, greeted = append(events, hello()), true
		}
		for _, e := range events {
			// What is sent is content: only while the session holds, with the same rights.
			if !s.still(r, me) || !out.send(e) {
				return
			}
			seq = max(seq, e.seq)
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.streams.ended:
			out.end()
			return
		case <-signedOut:
			out.end()
			return // the page connects again, and is told
		case <-news:
		case <-left.C:
			if here {
				here = false
				s.streams.depart()
			}
		case <-beat.C:
			if !s.still(r, me) || !out.send(heartbeat()) {
				return // the session has ended, or the browser is gone
			}
		}
	}
}

// still reports whether whoever made a request is signed in with the same rights.
func (s *Server) still(r *http.Request, me responder.Viewer) bool {
	now, err := s.whoIs(r, false)
	return err == nil && reflect.DeepEqual(now.By, me.By) && reflect.DeepEqual(now.Access, me.Access) && slices.Equal(now.Tenants, me.Tenants)
}
