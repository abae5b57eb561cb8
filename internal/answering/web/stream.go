package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/board"
)

// streams counts the open event streams and those with a present person. While
// there is one with a present person, this surface declares presence.
type streams struct {
	present func(tenant, session string) (func(), error)
	max     int
	log     *slog.Logger
	life    context.Context //nolint:containedctx // of the streams: ends when the server drains
	end     context.CancelFunc
	looked  chan struct{} // signals that a person became present
	running sync.WaitGroup

	mu     sync.Mutex
	n      int // open streams
	here   int // those with a present person
	leave  func()
	asking bool // a call of present is in flight
}

func newStreams(most int, present func(string, string) (func(), error), log *slog.Logger) *streams {
	life, end := context.WithCancel(context.Background())
	return &streams{present: present, max: most, log: log, life: life, end: end, looked: make(chan struct{}, 1)}
}

func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil || s.n >= s.max {
		return false
	}
	s.running.Add(1)
	s.n++
	return true
}

// arrive counts a stream's person as present.
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

// depart reverts one call of arrive.
func (s *streams) depart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here--
	if s.here == 0 && s.leave != nil {
		s.leave()
		s.leave = nil
	}
}

// declare declares presence on the bus. It runs in its own goroutine, because
// the bus may be slow and no page waits for it.
func (s *streams) declare() {
	leave, err := s.present("", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	switch {
	case err != nil:
		s.log.Warn("cannot declare that somebody looks", slog.Any("error", err))
	case s.here == 0:
		leave() // they have left in the meantime
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
	s.end()
	s.mu.Unlock()
	s.running.Wait()
}

// proxiedStream is the lifetime of a stream without a session that could end
// it: the page reconnects and is checked again.
const proxiedStream = 5 * time.Minute

// watch closes ended when the person of the request is signed out.
func (s *Server) watch(r *http.Request) (ended <-chan struct{}, stop func()) {
	if s.opts.Proxy.vouches(r) {
		ctx, cancel := context.WithTimeout(r.Context(), proxiedStream)
		return ctx.Done(), cancel
	}
	id, _ := s.sessionID(r)
	return s.opts.Sessions.Watch(id)
}

// sender writes server-sent events to one browser, compressed if the browser
// accepts it, and flushes each.
type sender struct {
	w   http.ResponseWriter
	out *http.ResponseController
	zip *packed // nil: uncompressed
}

func newSender(w http.ResponseWriter) *sender {
	s := &sender{w: w, out: http.NewResponseController(w)}
	if _, takes := w.(packing); takes {
		w.Header().Set("Content-Encoding", "gzip")
		s.zip = &packed{}
	}
	return s
}

// write sends bytes that are already encoded for this stream.
func (s *sender) write(data []byte) bool {
	// A browser that does not read must not block the stream forever. Some
	// ResponseWriters in tests do not support deadlines.
	_ = s.out.SetWriteDeadline(time.Now().Add(10 * time.Second))
	if _, err := s.w.Write(data); err != nil { //nolint:gosec // drawn by templates, which escape
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

// open sends the delay after which a cut-off browser reconnects.
func (s *sender) open() bool {
	if s.zip != nil && !s.write(s.zip.head()) {
		return false
	}
	return s.send(greeting())
}

// end closes the stream properly, so that the browser does not see a truncated
// one.
func (s *sender) end() {
	if s.zip != nil {
		s.write(s.zip.tail())
	}
}

// greeting, hello and heartbeat are the same for all streams.
//
//nolint:gochecknoglobals // made once, never changed
var (
	greeting  = sync.OnceValue(func() *event { return &event{data: []byte("retry: 1000\n\n")} })
	hello     = sync.OnceValue(func() *event { return &event{data: []byte("event: hello\ndata: {}\n\n")} })
	heartbeat = sync.OnceValue(func() *event { return &event{data: []byte("event: beat\ndata: {}\n\n")} })
)

// events serves a browser's stream of changes in its listing; see [feed]. The
// page sends the mark of what it shows and gets the changes since then, or the
// whole frame; then hello; then further changes.
func (s *Server) events(w http.ResponseWriter, r *http.Request, me board.Viewer) {
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
	defer func() {
		if _, err := s.whoIs(r, false); errors.Is(err, errSignedOut) { // the page cannot say that it is gone
			_ = s.board.Depart(me)
		}
	}()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := newSender(w)
	if !out.open() {
		return
	}
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	seq, known, greeted := uint64(0), false, false
	mark := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("mark"))
	for {
		events, late, news := f.after(seq)
		if !known && (late || f.drawn()) { // the feed has begun: find the page's position
			known, seq = true, f.resume(mark)
			events, late, news = f.after(seq)
		}
		if late {
			events = []*event{f.everything(r.Context())}
		}
		if known && !greeted {
			events, greeted = append(events, hello()), true
		}
		for _, e := range events {
			// Events contain asks: send them only while the session is valid
			// and the access unchanged.
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
		case <-s.streams.life.Done():
			out.end()
			return
		case <-signedOut:
			out.end()
			return // the page reconnects and gets the rest
		case <-news:
		case <-left.C:
			if here {
				here = false
				s.streams.depart()
			}
		case <-beat.C:
			if !s.still(r, me) || !out.send(heartbeat()) {
				return // the session has ended, or the browser disconnected
			}
		}
	}
}

// still reports whether the person of a request is still signed in with the
// same access.
func (s *Server) still(r *http.Request, me board.Viewer) bool {
	now, err := s.whoIs(r, false)
	return err == nil && reflect.DeepEqual(now.By, me.By) && reflect.DeepEqual(now.Access, me.Access) && slices.Equal(now.Tenants, me.Tenants)
}
