package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/coder/websocket"
)

// Limits of Socket Mode.
const (
	pingEvery   = 10 * time.Second
	helloWithin = 30 * time.Second
	lingerFor   = 20 * time.Second // after a disconnect message
	// MaxReplicas is how many processes may share one app over Socket Mode: Slack allows ten
	// connections, and counts dead ones for hours.
	MaxReplicas = 3
)

// socketState tracks this process's connections.
type socketState struct {
	opening sync.Mutex // held from a dial until its hello, so that hellos are read in the order in which they were sent

	mu     sync.Mutex
	live   int // connections with a reply to the last ping
	known  int // all connections of the app, by the last hello
	opened int
	ended  map[string]int // by reason
}

func (st *socketState) alive() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.live
}

func (st *socketState) note(live, opened int, reason string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.live += live
	st.opened += opened
	if reason != "" {
		if st.ended == nil {
			st.ended = map[string]int{}
		}
		st.ended[reason]++
	}
}

// Listen keeps the Socket Mode connections open until ctx ends. They overlap: a connection that
// Slack is about to close stays in use until its successor is open. At the end each sends a close
// frame, so that Slack keeps no ghost.
func (s *App) Listen(ctx context.Context) error {
	var all sync.WaitGroup
	for i := range s.opts.Connections {
		all.Go(func() { s.keepConnected(ctx, i) })
	}
	all.Wait()
	return nil
}

// keepConnected keeps one connection open, replacing it when it ends.
func (s *App) keepConnected(ctx context.Context, n int) {
	var running sync.WaitGroup
	defer running.Wait()
	wait := time.Second
	for ctx.Err() == nil {
		leaving := make(chan struct{}) // closed when this connection ends or is about to
		began := time.Now()
		s.sockets.opening.Lock()
		opened := sync.OnceFunc(s.sockets.opening.Unlock)
		conn, err := s.dial(ctx)
		if err != nil {
			opened()
			if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "cannot open a Socket Mode connection", slog.Int("connection", n), slog.String("error", err.Error()))
				_ = s.Clock.Sleep(ctx, wait)
				wait = min(2*wait, 30*time.Second)
			}
			continue
		}
		late := time.AfterFunc(helloWithin, opened)
		running.Go(func() {
			defer late.Stop()
			defer opened()
			s.hold(ctx, conn, leaving, opened)
		})
		select {
		case <-leaving:
		case <-ctx.Done():
			return
		}
		if time.Since(began) > time.Minute {
			wait = time.Second
		} else {
			_ = s.Clock.Sleep(ctx, wait/4)
			wait = min(2*wait, 30*time.Second)
		}
	}
}

func (s *App) dial(ctx context.Context) (*websocket.Conn, error) {
	var address string
	err := s.api.call(ctx, "apps.connections.open", "", s.Now(), func(ctx context.Context) error {
		var err error
		_, address, err = s.api.client.StartSocketModeContext(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if u, err := url.Parse(address); err != nil || u.Scheme != "wss" && u.Scheme != "ws" {
		return nil, errors.New("slack returned an address that is not of Socket Mode")
	}
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, address, nil) //nolint:bodyclose // the connection owns it
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(4 << 20)
	return conn, nil
}

// frame is a message of Socket Mode.
type frame struct {
	Type        string          `json:"type"`
	EnvelopeID  string          `json:"envelope_id"`
	Payload     json.RawMessage `json:"payload"`
	Reason      string          `json:"reason"`
	Connections int             `json:"num_connections"`
}

// hold serves one connection until it ends, and calls opened after its hello. When Slack announces
// its end, it closes leaving and keeps reading.
func (s *App) hold(ctx context.Context, conn *websocket.Conn, leaving chan struct{}, opened func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	leave := sync.OnceFunc(func() { close(leaving) })
	defer leave()
	defer conn.CloseNow() //nolint:errcheck // the connection is done
	stop := context.AfterFunc(ctx, func() {
		_ = conn.Close(websocket.StatusNormalClosure, "shutting down")
	})
	defer stop()
	s.sockets.note(1, 1, "")
	var once sync.Once
	dead := func(reason string) { once.Do(func() { s.sockets.note(-1, 0, reason) }) }
	defer dead("closed")
	go s.ping(work, conn, dead)
	var handling sync.WaitGroup
	defer handling.Wait()
	for {
		_, data, err := conn.Read(work)
		if err != nil {
			return
		}
		var f frame
		if json.Unmarshal(data, &f) != nil {
			continue
		}
		switch f.Type {
		case "hello":
			s.hello(ctx, f.Connections)
			opened()
		case "disconnect":
			s.Log.InfoContext(ctx, "slack is closing a connection", slog.String("reason", f.Reason))
			dead(f.Reason)
			leave()
			// Keep reading until Slack closes it, or until everything sent before has arrived.
			time.AfterFunc(lingerFor, func() { _ = conn.Close(websocket.StatusNormalClosure, "asked to go") })
			if f.Reason == "too_many_websockets" || f.Reason == "link_disabled" {
				s.Log.ErrorContext(ctx, "slack accepts no more connections of this app: most clicks may be lost", slog.String("reason", f.Reason))
			}
		default:
			s.busy <- struct{}{}
			handling.Go(func() {
				defer s.busy.End()
				s.envelope(work, conn, &f)
			})
		}
	}
}

// hello records how many connections Slack counts for the app. Those beyond ours belong to other
// replicas, or are ghosts that swallow clicks.
func (s *App) hello(ctx context.Context, connections int) {
	s.sockets.mu.Lock()
	s.sockets.known = connections
	s.sockets.mu.Unlock()
	if most := s.opts.Connections * (max(s.opts.Replicas, 1) + 1); connections > most {
		s.Log.WarnContext(ctx, "slack counts more connections than expected: dead ones swallow clicks until slack drops them; see \"askbus slack doctor\"",
			slog.Int("connections", connections), slog.Int("expected", s.opts.Connections*max(s.opts.Replicas, 1)))
	}
}

// ping detects a half-open connection, which looks healthy otherwise.
func (s *App) ping(ctx context.Context, conn *websocket.Conn, dead func(string)) {
	if err := chat.Probe(ctx, cmp.Or(s.opts.Ping, pingEvery), conn.Ping); ctx.Err() == nil {
		dead("no answer to a ping")
		s.Log.InfoContext(ctx, "a Socket Mode connection is lost", slog.String("error", err.Error()))
		_ = conn.CloseNow()
	}
}

// envelope handles and acknowledges one envelope.
func (s *App) envelope(ctx context.Context, conn *websocket.Conn, f *frame) {
	var answer any
	kind := f.Type
	if s.Bus == nil && kind != "events_api" {
		kind = "" // it is only paired: others have to hear of it again
	}
	switch kind {
	case "interactive":
		answer = s.inTime(ctx, f.Payload, func(ctx context.Context) any { return s.interact(ctx, f.Payload, proofSocket) })
	case "events_api":
		var e event
		if json.Unmarshal(f.Payload, &e) == nil {
			s.inTime(ctx, nil, func(ctx context.Context) any { s.happened(ctx, &e, proofSocket); return nil })
		}
	case "slash_commands":
		var c struct {
			User string `json:"user_id"`
			Name string `json:"user_name"`
			Team string `json:"team_id"`
		}
		if json.Unmarshal(f.Payload, &c) == nil && strings.TrimSpace(c.User) != "" {
			answer = s.inTime(ctx, nil, func(ctx context.Context) any { return s.commanded(ctx, command(c), proofSocket) })
		}
	}
	ack := map[string]any{"envelope_id": f.EnvelopeID}
	if answer != nil {
		ack["payload"] = answer
	}
	data, err := json.Marshal(ack)
	if err != nil || f.EnvelopeID == "" {
		return
	}
	one, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := conn.Write(one, websocket.MessageText, data); err != nil {
		s.Log.InfoContext(ctx, "cannot acknowledge an envelope", slog.String("error", err.Error()))
	}
}
