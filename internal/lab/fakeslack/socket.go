package fakeslack

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/halfopen"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/coder/websocket"
)

// pingEvery is the interval of pings on a connection.
const pingEvery = 5 * time.Second

// maxSockets is the maximum number of connections of an app; ghosts count.
const maxSockets = 10

// sockets are the Socket Mode connections of the app.
type sockets struct {
	mu      sync.Mutex
	tickets map[string]bool
	conns   []*socket
	waiting map[string]chan answer // by envelope id
	nextID  int
	opened  int
	closes  []int // close codes from the app
}

// socket is one connection. Without a conn it is a ghost: registered, given its share of envelopes,
// and never read.
type socket struct {
	conn  *websocket.Conn
	line  *halfopen.Conn
	going bool // a disconnect was sent
}

func (c *socket) ghost() bool { return c.conn == nil }

// answer is the app's acknowledgement of an envelope.
type answer struct {
	EnvelopeID string          `json:"envelope_id"`
	Payload    json.RawMessage `json:"payload,omitempty"`
}

func (s *Server) connectionsOpen(args) (reply, error) {
	ticket := s.id("ticket-")
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	if s.sockets.tickets == nil {
		s.sockets.tickets, s.sockets.waiting = map[string]bool{}, map[string]chan answer{}
	}
	s.sockets.tickets[ticket] = true
	return reply{"url": "ws://" + s.addr + "/link/" + ticket}, nil
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	ss := &s.sockets
	ticket := r.PathValue("ticket")
	ss.mu.Lock()
	known := ss.tickets[ticket]
	delete(ss.tickets, ticket)
	ss.mu.Unlock()
	if !known {
		http.Error(w, "unknown ticket", http.StatusForbidden)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // clients send Slack's origin
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // the connection is done
	conn.SetReadLimit(1 << 20)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	c := &socket{conn: conn, line: halfopen.Of(r)}
	count, ok := ss.add(c)
	if !ok {
		_ = send(ctx, conn, map[string]any{"type": "disconnect", "reason": "too_many_websockets"})
		_ = conn.Close(websocket.StatusPolicyViolation, "too many websockets")
		return
	}
	defer ss.remove(c)
	hello := map[string]any{
		"type": "hello", "num_connections": count, "connection_info": map[string]any{"app_id": AppID},
		"debug_info": map[string]any{"host": "fake", "build_number": 1, "approximate_connection_time": 18060},
	}
	if send(ctx, conn, hello) != nil {
		return
	}
	go ping(ctx, conn)
	ss.read(ctx, c)
}

func ping(ctx context.Context, conn *websocket.Conn) {
	for conn.Ping(ctx) == nil {
		if backoff.Sleep(ctx, pingEvery) != nil {
			return
		}
	}
}

// read handles acknowledgements until the connection ends.
func (ss *sockets) read(ctx context.Context, c *socket) {
	for {
		_, data, err := c.conn.Read(ctx)
		if err != nil {
			if code := websocket.CloseStatus(err); code != -1 {
				ss.mu.Lock()
				ss.closes = append(ss.closes, int(code))
				ss.mu.Unlock()
			}
			return
		}
		var a answer
		if json.Unmarshal(data, &a) != nil {
			continue
		}
		ss.mu.Lock()
		to := ss.waiting[a.EnvelopeID]
		delete(ss.waiting, a.EnvelopeID)
		ss.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
}

func send(ctx context.Context, conn *websocket.Conn, frame map[string]any) error {
	data, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, data)
}

func (ss *sockets) add(c *socket) (int, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if len(ss.conns) >= maxSockets {
		return 0, false
	}
	ss.opened++
	ss.conns = append(ss.conns, c)
	return len(ss.conns), true
}

// remove drops a connection that has ended.
func (ss *sockets) remove(c *socket) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.conns = slices.DeleteFunc(ss.conns, func(other *socket) bool { return other == c })
}

// overSocket sends an envelope to any one connection.
func (s *Server) overSocket(kind string, payload any, retry int, reason string, acceptsPayload bool) Delivery {
	ss := &s.sockets
	began := time.Now()
	ss.mu.Lock()
	if len(ss.conns) == 0 {
		ss.mu.Unlock()
		return Delivery{Lost: "no connection"}
	}
	c := ss.conns[rand.IntN(len(ss.conns))] //nolint:gosec // a random connection
	if c.ghost() {
		ss.mu.Unlock()
		return Delivery{Lost: "ghost"}
	}
	ss.nextID++
	id := "env-" + time.Now().Format("150405.000000") + "-" + strconv.Itoa(ss.nextID)
	acked := make(chan answer, 1)
	ss.waiting[id] = acked
	ss.mu.Unlock()
	frame := map[string]any{"envelope_id": id, "type": kind, "payload": payload, "accepts_response_payload": acceptsPayload}
	if kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = retry, reason
	}
	if err := send(context.Background(), c.conn, frame); err != nil {
		return Delivery{Lost: "connection broke"}
	}
	timer := time.NewTimer(s.opts.AckWithin)
	defer timer.Stop()
	select {
	case a := <-acked:
		return Delivery{Acked: true, Body: a.Payload, Took: time.Since(began)}
	case <-timer.C:
	case <-s.closed:
	}
	ss.mu.Lock()
	delete(ss.waiting, id)
	ss.mu.Unlock()
	return Delivery{Lost: "not acknowledged in time", Took: time.Since(began)}
}

// Connections returns how many connections Slack counts for the app; live excludes ghosts.
func (s *Server) Connections() (all, live int) {
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	for _, c := range s.sockets.conns {
		if !c.ghost() {
			live++
		}
	}
	return len(s.sockets.conns), live
}

// Opened returns how many connections were opened.
func (s *Server) Opened() int {
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	return s.sockets.opened
}

// Closes returns the codes of the close frames from the app.
func (s *Server) Closes() []int {
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	return slices.Clone(s.sockets.closes)
}

// Lose loses every connection, and tells nobody.
func (s *Server) Lose() {
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	for _, c := range s.sockets.conns {
		if !c.ghost() {
			c.line.Lose()
		}
	}
}

// AddGhosts registers connections that nobody reads.
func (s *Server) AddGhosts(n int) {
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	for range n {
		s.sockets.conns = append(s.sockets.conns, &socket{})
	}
}

// DropGhosts removes the ghosts, as Slack does after hours.
func (s *Server) DropGhosts() {
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	s.sockets.conns = slices.DeleteFunc(s.sockets.conns, (*socket).ghost)
}

// Disconnect sends n connections a disconnect message, the oldest first, with a reason such as
// "warning" or "refresh_requested". After a warning Slack delays the close; otherwise it closes at
// once.
func (s *Server) Disconnect(n int, reason string) {
	s.sockets.mu.Lock()
	conns := slices.Clone(s.sockets.conns)
	s.sockets.mu.Unlock()
	for _, c := range conns {
		if n == 0 {
			return
		}
		s.sockets.mu.Lock()
		skip := c.ghost() || c.going
		c.going = c.going || !skip
		s.sockets.mu.Unlock()
		if skip {
			continue
		}
		n--
		_ = send(context.Background(), c.conn, map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "fake"}})
		if reason != "warning" {
			_ = c.conn.Close(websocket.StatusNormalClosure, reason)
		}
	}
}

func (ss *sockets) closeAll() {
	ss.mu.Lock()
	conns := slices.Clone(ss.conns)
	ss.mu.Unlock()
	for _, c := range conns {
		if c.conn != nil {
			_ = c.conn.CloseNow()
		}
	}
}
