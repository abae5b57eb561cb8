package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/coder/websocket"
)

// Opcodes of the gateway.
const (
	opDispatch  = 0
	opBeat      = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opBeatAck   = 11
)

// Bounds of a connection.
const (
	openWithin = 20 * time.Second
	maxFrame   = 4 << 20
	// A connection that lasts less is tried again after a pause that doubles: Discord allows 1,000 new sessions a day.
	steadyAfter = time.Minute
	maxPause    = 2 * time.Minute
	refusedFor  = 5 * time.Minute
)

type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// session is what the gateway resumes, so that nothing is lost between two connections.
type session struct {
	ID  string `json:"session_id"`
	URL string `json:"resume_gateway_url"`
	seq atomic.Int64
}

func (h *session) end() {
	h.ID = ""
	h.seq.Store(0)
}

// receive holds a connection to the gateway until ctx ends or the token is refused, and passes on what is dispatched.
// It needs no intents for what people do with buttons and forms.
func (s *App) receive(ctx context.Context, intents int, dispatched func(ctx context.Context, typ string, data json.RawMessage)) {
	held, pause := &session{}, time.Second
	for ctx.Err() == nil && s.me.Load() != nil {
		began := s.Clock.Now()
		err := s.hold(ctx, held, intents, dispatched)
		s.live.Store(false)
		if ctx.Err() != nil {
			return
		}
		if s.Clock.Now().Sub(began) > steadyAfter {
			pause = time.Second
		}
		wait := pause
		switch status := websocket.CloseStatus(err); {
		case status == 4004:
			s.me.Store(nil)
			s.Log.ErrorContext(ctx, "discord refuses the token: it was revoked, or reset; give the new one")
			wait = refusedFor
		case status >= 4010 && status <= 4014:
			s.Log.ErrorContext(ctx, "discord refuses the connection", slog.String("error", err.Error()))
			wait = refusedFor
		case status == 4007, status == 4009, status == 4003:
			held.end()
		default:
			s.Log.InfoContext(ctx, "the connection to Discord's gateway ended", slog.String("error", err.Error()), slog.Duration("again_in", wait))
		}
		if errors.Is(err, errAskedToReconnect) {
			continue
		}
		_ = backoff.Sleep(ctx, wait) // fails only when ctx ends
		pause = min(2*pause, maxPause)
	}
}

var errAskedToReconnect = errors.New("discord asked to reconnect")

// gateway returns the address of the gateway, when a new session may begin.
func (s *App) gateway(ctx context.Context) (address string, err error) {
	var g struct {
		URL    string `json:"url"`
		Starts struct {
			Remaining  int `json:"remaining"`
			ResetAfter int `json:"reset_after"` // milliseconds
		} `json:"session_start_limit"`
	}
	if err := s.api.call(ctx, call{Method: "GET", Class: "gateway", Path: "/gateway/bot", Rank: s.Now(), Into: &g}); err != nil {
		return "", err
	}
	if g.Starts.Remaining == 0 && g.Starts.ResetAfter > 0 {
		s.Log.ErrorContext(ctx, "discord allows no more sessions of this token today; is it used elsewhere?", slog.Int("milliseconds", g.Starts.ResetAfter))
		if err := backoff.Sleep(ctx, time.Duration(g.Starts.ResetAfter)*time.Millisecond); err != nil {
			return "", err
		}
	}
	return g.URL, nil
}

// hold opens one connection and reads it to its end, which is the error.
func (s *App) hold(ctx context.Context, held *session, intents int, dispatched func(context.Context, string, json.RawMessage)) (err error) {
	address := held.URL
	if held.ID == "" {
		if address, err = s.gateway(ctx); err != nil {
			return err
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "wss" && u.Scheme != "ws" {
		return errors.New("discord returned an address that is not of its gateway")
	}
	u.RawQuery = "v=10&encoding=json"
	open, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	conn, _, err := websocket.Dial(open, u.String(), nil) //nolint:bodyclose // the connection owns it
	if err != nil {
		held.end() // the address may be outdated
		return fmt.Errorf("open the gateway: %w", err)
	}
	defer conn.CloseNow() //nolint:errcheck // the connection is done
	conn.SetReadLimit(maxFrame)
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close(websocket.StatusNormalClosure, "shutting down") }) // ends the session
	defer stop()
	var first frame
	var hello struct {
		Every int64 `json:"heartbeat_interval"` // milliseconds
	}
	if err := read(open, conn, &first); err != nil {
		return fmt.Errorf("the gateway says no hello: %w", err)
	}
	if err := json.Unmarshal(first.Data, &hello); err != nil || first.Op != opHello || hello.Every <= 0 {
		return errors.New("the gateway says no hello")
	}
	var acked atomic.Bool
	acked.Store(true)
	go s.beat(work, conn, held, time.Duration(hello.Every)*time.Millisecond, &acked)
	if err := write(open, conn, s.greeting(held, intents)); err != nil {
		return err
	}
	for {
		var f frame
		if err := read(work, conn, &f); err != nil {
			return err
		}
		switch f.Op {
		case opDispatch:
			if f.Seq > 0 {
				held.seq.Store(f.Seq)
			}
			switch f.Type {
			case "READY":
				if err := json.Unmarshal(f.Data, held); err != nil {
					return fmt.Errorf("the gateway is ready: %w", err)
				}
				s.live.Store(true)
			case "RESUMED":
				s.live.Store(true)
			default:
				dispatched(ctx, f.Type, f.Data)
			}
		case opBeat:
			if err := write(work, conn, frameOf(opBeat, held.seq.Load())); err != nil {
				return err
			}
		case opBeatAck:
			acked.Store(true)
		case opReconnect:
			_ = conn.Close(4000, "reconnecting") // not 1000, which would end the session
			return errAskedToReconnect
		case opInvalid:
			if string(f.Data) != "true" {
				held.end()
			}
			_ = backoff.Sleep(ctx, time.Second+rand.N(4*time.Second)) //nolint:gosec // it only spreads
			return errors.New("the session is invalid")
		}
	}
}

// greeting begins a session, or resumes one.
func (s *App) greeting(held *session, intents int) any {
	if held.ID != "" {
		return frameOf(opResume, map[string]any{"token": s.opts.Token, "session_id": held.ID, "seq": held.seq.Load()})
	}
	return frameOf(opIdentify, map[string]any{
		"token": s.opts.Token, "intents": intents, "properties": map[string]string{"os": runtime.GOOS, "browser": "askbus", "device": "askbus"},
	})
}

// beat sends heartbeats, and ends a connection that does not acknowledge them.
func (s *App) beat(ctx context.Context, conn *websocket.Conn, held *session, every time.Duration, acked *atomic.Bool) {
	wait := rand.N(every) //nolint:gosec // it only spreads
	for backoff.Sleep(ctx, wait) == nil {
		wait = every
		if !acked.Swap(false) {
			_ = conn.CloseNow() // nobody would read a close frame, and without one the session can be resumed
			return
		}
		if err := write(ctx, conn, frameOf(opBeat, held.seq.Load())); err != nil {
			return // reading fails as well
		}
	}
}

func frameOf(op int, data any) map[string]any {
	if seq, ok := data.(int64); ok && seq == 0 {
		data = nil
	}
	return map[string]any{"op": op, "d": data}
}

func read(ctx context.Context, conn *websocket.Conn, f *frame) error {
	_, data, err := conn.Read(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, f)
}

func write(ctx context.Context, conn *websocket.Conn, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a frame: %w", err)
	}
	one, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	return conn.Write(one, websocket.MessageText, data)
}

// dispatched handles an event of the gateway.
func (s *App) dispatched(ctx context.Context, typ string, data json.RawMessage) {
	if m, ok := readDirect(typ, data); ok {
		s.wrote(ctx, m)
	}
	if typ != "INTERACTION_CREATE" {
		return
	}
	in, err := readInteraction(data)
	if err != nil || !s.begin(in) {
		s.Log.WarnContext(ctx, "dropped an interaction: it is malformed, or too many are in progress")
		return
	}
	s.after.Go(func() {
		defer s.busy.End()
		send := func(ctx context.Context, r reply) error {
			return s.api.call(ctx, call{Method: "POST", Path: "/interactions/" + in.ID + "/" + in.Token + "/callback", Body: r})
		}
		if in.Type == typeCommand {
			s.commanded(ctx, in, send)
			return
		}
		s.inTime(ctx, in, send)
	})
}
