package fakediscord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/halfopen"
	"github.com/coder/websocket"
)

type frame struct {
	Op   int    `json:"op"`
	Data any    `json:"d"`
	Seq  int    `json:"s,omitempty"`
	Type string `json:"t,omitempty"`
}

// session is one of the gateway. It outlives its connection.
type session struct {
	id      string
	intents int
	mu      sync.Mutex
	conn    *websocket.Conn
	line    *halfopen.Conn
	sent    []frame // all that was dispatched
}

// dispatch sends an event, or keeps it for the next connection.
func (s *session) dispatch(typ string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := frame{0, data, len(s.sent) + 1, typ}
	s.sent = append(s.sent, f)
	if s.conn != nil {
		_ = write(s.conn, f) // it is sent again after a resume
	}
}

// drop ends its connection.
func (s *session) drop(code int, why string) {
	s.mu.Lock()
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	if conn != nil {
		go conn.Close(websocket.StatusCode(code), why) //nolint:errcheck // it may have gone
	}
}

func write(conn *websocket.Conn, f frame) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, data)
}

// Sessions returns how many sessions have a connection, and how many identified.
func (s *Server) Sessions() (connected, identified int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		one.mu.Lock()
		if one.conn != nil {
			connected++
		}
		one.mu.Unlock()
	}
	return connected, s.identified
}

// Reconnect asks all connections to reconnect.
func (s *Server) Reconnect() { s.frames(frame{Op: 7}) }

// Invalidate ends all sessions.
func (s *Server) Invalidate() {
	s.frames(frame{Op: 9, Data: false})
	s.locked(func() { s.sessions = map[string]*session{} })
}

// Cut ends all connections without a word.
func (s *Server) Cut() {
	s.locked(func() {
		for _, one := range s.sessions {
			one.mu.Lock()
			if one.conn != nil {
				_ = one.conn.CloseNow()
			}
			one.conn = nil
			one.mu.Unlock()
		}
	})
}

// Lose loses all connections, and tells nobody.
func (s *Server) Lose() {
	s.locked(func() {
		for _, one := range s.sessions {
			one.mu.Lock()
			if one.conn != nil {
				one.line.Lose()
			}
			one.mu.Unlock()
		}
	})
}

func (s *Server) frames(f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		one.mu.Lock()
		if one.conn != nil {
			_ = write(one.conn, f) // it has gone
		}
		one.mu.Unlock()
	}
}

// serveGateway serves one connection.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("v") != "10" || r.FormValue("encoding") != "json" {
		http.Error(w, "v and encoding", http.StatusBadRequest)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()                                                                                                 //nolint:errcheck // it is done
	if write(conn, frame{Op: 10, Data: map[string]int64{"heartbeat_interval": s.opts.Heartbeat.Milliseconds()}}) != nil { //nolint:contextcheck // it has its own limit
		return
	}
	var mine *session
	defer func() {
		if mine != nil {
			mine.mu.Lock()
			if mine.conn == conn {
				mine.conn = nil
			}
			mine.mu.Unlock()
			s.locked(func() {})
		}
	}()
	for {
		within, cancel := context.WithTimeout(r.Context(), s.opts.Heartbeat*3/2+5*time.Second)
		_, data, err := conn.Read(within)
		cancel()
		if err != nil {
			if c := websocket.CloseStatus(err); mine != nil && (c == 1000 || c == 1001) { // the session is over
				s.locked(func() { delete(s.sessions, mine.id) })
			}
			return
		}
		var f struct {
			Op   int             `json:"op"`
			Data json.RawMessage `json:"d"`
		}
		if json.Unmarshal(data, &f) != nil {
			_ = conn.Close(4002, "Decode error")
			return
		}
		switch f.Op {
		case 1:
			_ = write(conn, frame{Op: 11}) //nolint:contextcheck // it has its own limit
		case 2, 6:
			if mine != nil {
				_ = conn.Close(4005, "Already authenticated")
				return
			}
			if mine = s.greeted(conn, halfopen.Of(r), f.Op, f.Data); mine == nil { //nolint:contextcheck // the session outlives the request
				return
			}
		default:
			_ = conn.Close(4001, "Unknown opcode")
			return
		}
	}
}

// greeted begins or resumes a session.
func (s *Server) greeted(conn *websocket.Conn, line *halfopen.Conn, op int, data json.RawMessage) *session {
	var in struct {
		Token   string `json:"token"`
		Intents *int   `json:"intents"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	err := json.Unmarshal(data, &in)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	switch {
	case err != nil || op == 2 && in.Intents == nil:
		_ = conn.Close(4002, "Decode error")
		return nil
	case in.Token != Token || s.revoked:
		_ = conn.Close(4004, "Authentication failed.")
		return nil
	}
	if op == 6 {
		one := s.sessions[in.Session]
		if one == nil || in.Seq > len(one.sent) {
			_ = write(conn, frame{Op: 9, Data: false})
			return &session{} // it must identify on a new connection
		}
		one.mu.Lock()
		defer one.mu.Unlock()
		one.conn, one.line = conn, line
		for _, f := range one.sent[in.Seq:] {
			_ = write(conn, f)
		}
		_ = write(conn, frame{Op: 0, Type: "RESUMED", Data: map[string]any{}, Seq: len(one.sent)})
		return one
	}
	s.identified++
	one := &session{id: fmt.Sprint("session", s.identified), intents: *in.Intents, conn: conn, line: line}
	s.sessions[one.id] = one
	one.dispatch("READY", map[string]any{
		"v": 10, "user": s.users[Bot], "session_id": one.id, "resume_gateway_url": "ws" + s.http.URL[len("http"):] + "/gateway",
		"guilds": []any{map[string]any{"id": Guild, "unavailable": true}}, "application": map[string]any{"id": App, "flags": 0},
	})
	return one
}

// Write lets a person write to the bot in private; who has the intent hears it.
func (s *Server) Write(user, words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := map[string]any{"id": s.id(), "channel_id": s.directOf(user), "channel_type": 1, "author": s.users[user], "content": words}
	for _, one := range s.sessions {
		if one.intents&(1<<12) != 0 {
			one.dispatch("MESSAGE_CREATE", written)
		}
	}
	s.touch()
}

// directOf returns the channel of a person's direct messages. The caller holds mu.
func (s *Server) directOf(user string) string {
	for id, of := range s.channels {
		if of == user {
			return id
		}
	}
	id := s.id()
	s.channels[id] = user
	return id
}
