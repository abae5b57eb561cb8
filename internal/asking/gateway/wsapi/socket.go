package wsapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coder/websocket"
)

const (
	maxFrame     = ask.MaxEventBytes      // of a client, in bytes
	maxQueue     = 64                     // events queued for a slow client; beyond, it reads everything again
	writeTimeout = 10 * time.Second       // of one frame
	pingEvery    = 30 * time.Second       // and how long the reply may take
	farewell     = 500 * time.Millisecond // for a client's reply when the gateway closes its socket
)

// Frames of our own; pkg/dialect has those of the dialects.
const (
	frameHello   = "hello"                // client: { dialect?, open?: [id] }
	frameError   = "error"                // to the client: a problem, with the ask's id if known
	framePending = "ask:question:pending" // to an agent: its ask is stored; to a screen that closed an ask undecided: it stays open
	frameClosed  = "ask:question:closed"  // to a screen of the event pair: ended elsewhere, or stored as answered
	framePing    = "ping"
	framePong    = "pong"
)

// frame is one message of a socket.
type frame struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// socket is one connection. Its loop owns the fields below the line.
type socket struct {
	server *Server
	c      *access.Caller
	conn   *websocket.Conn
	scope  scope
	r      *http.Request // that opened it
	name   string        // display name of the answering person
	cards  bool          // send cards with questions
	lang   string        // language tag of the cards

	mu    sync.Mutex
	queue []ask.Record
	dirty bool // events were dropped; read everything again
	wake  chan struct{}
	ended chan waited // ended asks of an agent's socket

	// ---
	screen *screen // what it shows; nil for an agent's socket
	asker  *asker  // nil for a screen
}

// Connect serves one connection until it ends.
func (server *Server) Connect(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		return ask.Refusal(wire.CodeUpgrade, ask.FaultNeedsWebSocket)
	}
	s, err := server.newSocket(r, c)
	if err != nil {
		return err
	}
	if err := server.access.OriginAllowed(r); err != nil {
		return err
	}
	if err := server.sockets.enter(c.ID); err != nil {
		return err
	}
	defer server.sockets.exit(c.ID)
	s.conn, err = websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin is checked above, with a problem body
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil // Accept has replied
	}
	defer s.conn.CloseNow() //nolint:errcheck // closed or broken
	s.conn.SetReadLimit(maxFrame)
	s.run(r.Context())
	return nil
}

// newSocket decides what a connection is: a screen if its token may answer, else an agent's socket.
func (server *Server) newSocket(r *http.Request, c *access.Caller) (*socket, error) {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	s := &socket{server: server, c: c, r: r, wake: make(chan struct{}, 1), ended: make(chan waited), name: access.ClipName(q.Get("by"))}
	s.cards = q.Get("card") == "1"
	if l, ok := lang.Match(q.Get("lang"), r.Header.Get("Accept-Language")); ok {
		s.lang = l.Tag
	}
	s.scope = scope{tenant: tenant}
	named := q.Get("session") != "" || q.Get("sessionId") != ""
	if _, one := c.Session(); named || one || !c.MayAnswer(tenant, "") {
		s.scope.session = c.SessionOf(r, "")
	}
	shape, err := shapeOf(q.Get("dialect"))
	if err != nil {
		return nil, err
	}
	if c.MayAnswer(tenant, s.scope.session) {
		s.screen = newScreen(shape)
	} else if err := c.CheckAsk(tenant, s.scope.session); err != nil {
		return nil, err
	}
	if c.MayAsk(tenant, s.scope.session) {
		s.asker = newAsker(shape)
	}
	if open := q.Get("open"); open != "" {
		s.resume(strings.Split(open, ","))
	}
	return s, nil
}

// push queues an event for the loop without waiting.
func (s *socket) push(rec ask.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) >= maxQueue {
		s.queue, s.dirty = nil, true
	}
	if !s.dirty {
		s.queue = append(s.queue, rec)
	}
	s.signal()
}

// stale makes the loop read everything again.
func (s *socket) stale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.dirty = nil, true
	s.signal()
}

func (s *socket) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *socket) drain() (queue []ask.Record, dirty bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue, dirty = s.queue, s.dirty
	s.queue, s.dirty = nil, false
	return queue, dirty
}

// run serves the connection until it ends. A disconnect undoes no ask and no answer.
func (s *socket) run(life context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(life)) // the last frame is sent after life's end
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	if s.screen != nil {
		defer s.server.sockets.watch(s)()
		s.stale()
	}
	incoming := make(chan []byte)
	helpers.Go(func() {
		defer cancel()
		s.read(ctx, incoming)
	})
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	s.begin(ctx, &helpers)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-life.Done():
			if why := access.Ended(life); why != nil {
				code := websocket.StatusTryAgainLater
				if why.Code == ask.CodeUnauthorized {
					code = websocket.StatusPolicyViolation
				}
				s.close(cancel, code, why.Detail)
			}
			return
		case <-s.server.drain:
			s.close(cancel, websocket.StatusGoingAway, ask.NewFault("", ask.FaultStopping).Message)
			return
		case <-s.wake:
			err = s.show(ctx)
		case body := <-incoming:
			err = s.handle(ctx, body, &helpers)
		case w := <-s.ended:
			err = s.sendOutcome(ctx, w)
		case <-ping.C:
			helpers.Go(func() { s.ping(ctx, cancel) })
		}
		if err != nil {
			return // the client is gone or too slow
		}
	}
}

// close tells the client why its socket ends. hangUp ends the reading, and so the connection of a
// client that does not reply.
func (s *socket) close(hangUp context.CancelFunc, code websocket.StatusCode, why string) {
	defer time.AfterFunc(farewell, hangUp).Stop()
	_ = s.conn.Close(code, why)
}

// read reads frames. It applies backpressure to a fast client.
func (s *socket) read(ctx context.Context, incoming chan<- []byte) {
	for {
		kind, body, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = s.conn.Close(websocket.StatusUnsupportedData, ask.NewFault("", ask.FaultNotTextFrame).Message)
			return
		}
		select {
		case incoming <- body:
		case <-ctx.Done():
			return
		}
	}
}

// ping detects a dead client.
func (s *socket) ping(ctx context.Context, cancel context.CancelFunc) {
	one, stop := context.WithTimeout(ctx, pingEvery)
	defer stop()
	if s.conn.Ping(one) != nil {
		cancel()
	}
}

// send writes one frame. It drops a client that is too slow, which may reconnect and resume.
func (s *socket) send(ctx context.Context, typ string, data []byte) error {
	body, err := json.Marshal(frame{typ, data})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, body)
}

// complain sends the client a problem with its frame.
func (s *socket) complain(ctx context.Context, id string, err error) error {
	e := access.Problem(err)
	if e.Code == ask.CodeInternal {
		s.server.opts.Logger.ErrorContext(ctx, "a frame failed", slog.String("ask_id", id), slog.Any("error", err))
	}
	s.server.access.Refused(s.r, &s.c.Token, err)
	body := wire.EncodeProblem(e)
	if id != "" {
		named, err := json.Marshal(id)
		if err != nil {
			return err
		}
		body = append([]byte(`{"id":`+string(named)+`,`), body[1:]...)
	}
	return s.send(ctx, frameError, body)
}
