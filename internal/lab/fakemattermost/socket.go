package fakemattermost

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/halfopen"
	"github.com/coder/websocket"
)

// listener is a connection on which events are told.
type listener struct {
	mu   sync.Mutex
	conn *websocket.Conn
	line *halfopen.Conn
	seq  int
	over bool // the session behind it has ended
}

// tell sends an event; a connection that takes none is dropped.
func (l *listener) tell(ctx context.Context, event string, data, broadcast map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.event(ctx, event, data, broadcast)
	}
}

// event is tell for who holds mu.
func (l *listener) event(ctx context.Context, event string, data, broadcast map[string]any) {
	l.send(ctx, map[string]any{"event": event, "data": data, "broadcast": broadcast, "seq": l.seq})
	l.seq++
}

func (l *listener) send(ctx context.Context, v any) {
	data, _ := json.Marshal(v)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if l.conn.Write(ctx, websocket.MessageText, data) != nil {
		_ = l.conn.CloseNow()
	}
}

// Listeners returns how many connections hear events.
func (s *Server) Listeners() (n int) {
	s.locked(func() { n = len(s.listeners) })
	return n
}

// Heard returns how many connections have ever heard events.
func (s *Server) Heard() (n int) {
	s.locked(func() { n = s.heard })
	return n
}

// Drop breaks all connections that hear events.
func (s *Server) Drop() {
	s.locked(func() {
		for l := range s.listeners {
			_ = l.conn.CloseNow()
		}
	})
}

// Lose loses all connections that hear events, and tells nobody.
func (s *Server) Lose() {
	s.locked(func() {
		for l := range s.listeners {
			l.line.Lose()
		}
	})
}

// EndSessions ends the sessions behind all connections that hear events, as a bot's that is disabled for a moment: they stay
// open, answer a WebSocket's ping, and hear nothing any more (Mattermost 11.6).
func (s *Server) EndSessions() {
	var all []*listener
	s.locked(func() { all = slices.Collect(maps.Keys(s.listeners)) })
	for _, l := range all {
		l.mu.Lock()
		l.over = true
		l.mu.Unlock()
	}
}

// socket is a WebSocket, of who shows the token in a header or in an authentication_challenge.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // it is done
	l, authentic := &listener{conn: conn, line: halfopen.Of(r)}, s.knows(r.Header.Get("Authorization"))
	hello := func(ctx context.Context) {
		l.mu.Lock() // what is posted after comes after
		defer l.mu.Unlock()
		s.locked(func() {
			s.listeners[l] = true
			s.heard++
		})
		l.event(ctx, "hello", map[string]any{"connection_id": "c", "server_version": "11.0.0"}, map[string]any{"user_id": Bot})
	}
	if authentic {
		hello(r.Context())
	}
	defer s.locked(func() { delete(s.listeners, l) })
	for {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		var in struct {
			Seq    int            `json:"seq"`
			Action string         `json:"action"`
			Data   map[string]any `json:"data"`
		}
		token, _ := "", json.Unmarshal(data, &in)
		if in.Action == "authentication_challenge" {
			token, _ = in.Data["token"].(string)
		}
		switch {
		case !authentic && !s.knows("Bearer "+token):
			_ = conn.Close(websocket.StatusPolicyViolation, "not authenticated")
			return
		case !authentic:
			authentic = true
			l.mu.Lock()
			l.send(r.Context(), map[string]any{"status": "OK", "seq_reply": in.Seq})
			l.mu.Unlock()
			hello(r.Context())
		case in.Action == "ping":
			l.mu.Lock()
			reply := map[string]any{"status": "OK", "seq_reply": in.Seq, "data": map[string]any{"text": "pong"}}
			if l.over {
				reply = map[string]any{"status": "FAIL", "seq_reply": in.Seq, "error": map[string]any{"id": "api.web_socket_router.not_authenticated.app_error", "status_code": http.StatusUnauthorized}}
			}
			l.send(r.Context(), reply)
			l.mu.Unlock()
		}
	}
}

// knows reports whether a header has the token.
func (s *Server) knows(header string) (ok bool) {
	s.locked(func() { ok = !s.revoked && strings.EqualFold(header, "Bearer "+Token) })
	return ok
}

// posted tells everybody who listens of a post that the bot can read. The caller holds mu.
func (s *Server) posted(p *Post) {
	text, _ := json.Marshal(stripped(*p))
	for l := range s.listeners {
		go l.tell(context.Background(), "posted", map[string]any{"channel_type": kindOf(p.Channel), "channel_name": p.Channel, "sender_name": "@" + s.users[p.User].Username, "team_id": "", "post": string(text)}, map[string]any{"channel_id": p.Channel})
	}
}
