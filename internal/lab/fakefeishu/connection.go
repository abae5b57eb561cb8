package fakefeishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/answering/chat/feishu/pbbp2"
	"github.com/askbus/askbus/internal/lab/halfopen"
	"github.com/coder/websocket"
)

// connection is a long connection.
type connection struct {
	ws      *websocket.Conn
	line    *halfopen.Conn
	mu      sync.Mutex
	waiting map[string]chan []byte // payloads of answers, by message_id
}

// maxConnections is the limit of an app.
const maxConnections = 50

func (s *Server) address() string {
	return "ws" + strings.TrimPrefix(s.http.URL, "http") + fmt.Sprintf("/ws?device_id=%d&service_id=33554678&access_key=fake&ticket=fake", s.calls["POST endpoint"])
}

func clientConfig() map[string]any {
	return map[string]any{"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": 120}
}

// connect serves a long connection.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	many := len(s.conns) >= maxConnections
	s.mu.Unlock()
	if r.URL.Query().Get("ticket") != "fake" || many {
		w.Header().Set("Handshake-Status", "514")
		w.Header().Set("Handshake-Msg", "exceed connection limit or wrong ticket")
		w.Header().Set("Handshake-Autherrcode", "1000040350")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	c := &connection{ws: ws, line: halfopen.Of(r), waiting: map[string]chan []byte{}}
	s.locked(func() { s.conns = append(s.conns, c); s.touch() })
	defer s.locked(func() {
		s.conns = slices.DeleteFunc(s.conns, func(one *connection) bool { return one == c })
		s.touch()
	})
	defer ws.CloseNow() //nolint:errcheck // it has ended
	for {
		_, data, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		f, err := pbbp2.Unmarshal(data)
		if err != nil {
			return
		}
		switch {
		case f.Method == pbbp2.Control && f.Header(pbbp2.HeaderType) == "ping":
			config, _ := json.Marshal(clientConfig()) // a map of numbers always marshals
			pong := pbbp2.Frame{Service: f.Service, Method: pbbp2.Control, Headers: []pbbp2.Header{{Key: pbbp2.HeaderType, Value: "pong"}}, Payload: config}
			if ws.Write(r.Context(), websocket.MessageBinary, pong.Marshal()) != nil {
				return
			}
		case f.Method == pbbp2.Data:
			c.mu.Lock()
			waits := c.waiting[f.Header(pbbp2.HeaderMessageID)]
			c.mu.Unlock()
			if waits != nil && f.Header(pbbp2.HeaderBizRT) != "" {
				select {
				case waits <- f.Payload:
				default: // a second answer
				}
			}
		}
	}
}

// Connections returns the number of long connections.
func (s *Server) Connections() (n int) {
	s.locked(func() { n = len(s.conns) })
	return n
}

// Disconnect breaks every long connection. They are not counted from then on, although their ends come later.
func (s *Server) Disconnect() {
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.touch()
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.ws.CloseNow()
	}
}

// Lose loses every long connection, and tells nobody.
func (s *Server) Lose() {
	s.locked(func() {
		for _, c := range s.conns {
			c.line.Lose()
		}
	})
}

// overConnection delivers an event over one of the connections, whichever, and returns the answer.
func (s *Server) overConnection(ctx context.Context, id string, payload []byte) ([]byte, error) {
	s.mu.Lock()
	if len(s.conns) == 0 {
		s.mu.Unlock()
		return nil, errors.New("no long connection is open")
	}
	s.events++
	n := s.events
	c, size := s.conns[n%len(s.conns)], s.fragment
	s.mu.Unlock()
	id += "-" + strconv.Itoa(n)
	answers := make(chan []byte, 1)
	c.mu.Lock()
	c.waiting[id] = answers
	c.mu.Unlock()
	parts := [][]byte{payload}
	if size > 0 {
		parts = slices.Collect(slices.Chunk(payload, size))
	}
	for seq, part := range parts {
		f := pbbp2.Frame{SeqID: 1, LogID: 2, Service: 33554678, Method: pbbp2.Data, Payload: part, Headers: []pbbp2.Header{
			{Key: pbbp2.HeaderType, Value: "event"},
			{Key: pbbp2.HeaderMessageID, Value: id},
			{Key: "trace_id", Value: "trace"},
			{Key: pbbp2.HeaderSum, Value: strconv.Itoa(len(parts))},
			{Key: pbbp2.HeaderSeq, Value: strconv.Itoa(seq)},
		}}
		if err := c.ws.Write(ctx, websocket.MessageBinary, f.Marshal()); err != nil {
			return nil, err
		}
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer in time: %w", ctx.Err())
	case raw := <-answers:
		var out struct {
			Code int    `json:"code"`
			Data []byte `json:"data"`
		}
		if err := json.Unmarshal(raw, &out); err != nil || out.Code != http.StatusOK {
			return nil, fmt.Errorf("the answer is %s", raw)
		}
		return out.Data, nil
	}
}
