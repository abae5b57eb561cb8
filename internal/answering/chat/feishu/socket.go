package feishu

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat/feishu/pbbp2"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/coder/websocket"
)

// Bounds of the long connection.
const (
	maxFrame     = 1 << 20
	maxFragments = 64
	maxPartial   = 100 // messages of which fragments are held
	partialFor   = 10 * time.Second
	writeFor     = 5 * time.Second
	minPing      = 5 * time.Second
	maxPing      = 5 * time.Minute
	minReconnect = time.Second
	maxReconnect = 2 * time.Minute
)

// endpoint is where a long connection can be opened, once.
type endpoint struct {
	URL    string `json:"URL"`
	Config struct {
		ReconnectInterval int `json:"ReconnectInterval"` // seconds
		PingInterval      int `json:"PingInterval"`      // seconds
	} `json:"ClientConfig"`
}

// endpoint asks Feishu for one.
func (s *App) endpoint(ctx context.Context) (e endpoint, err error) {
	err = s.api.send(ctx, request{method: http.MethodPost, path: "/callback/ws/endpoint", body: map[string]string{"AppID": s.opts.AppID, "AppSecret": s.opts.AppSecret}}, "", &e)
	if err != nil {
		return e, err
	}
	if u, err := url.Parse(e.URL); err != nil || u.Scheme != "wss" && u.Scheme != "ws" {
		return e, errors.New("feishu gave no address for the long connection")
	}
	return e, nil
}

func (e *endpoint) ping() time.Duration {
	return min(max(time.Duration(e.Config.PingInterval)*time.Second, minPing), maxPing)
}

// stayConnected holds one long connection until it breaks or ctx ends.
func (s *App) stayConnected(ctx context.Context) {
	var e endpoint
	var conn *websocket.Conn
	s.Retry(ctx, func(ctx context.Context) (err error) {
		dial, cancel := context.WithTimeout(ctx, callFor)
		defer cancel()
		if e, err = s.endpoint(dial); err != nil {
			return err
		}
		conn, err = open(dial, e.URL)
		return err
	})
	if conn == nil {
		return
	}
	conn.SetReadLimit(maxFrame)
	s.connected.Store(true)
	err := s.receive(ctx, conn, &e)
	s.connected.Store(false)
	_ = conn.Close(websocket.StatusNormalClosure, "")
	if ctx.Err() == nil {
		s.Log.WarnContext(ctx, "the long connection ended; opening another", slog.String("error", err.Error()))
		_ = s.Clock.Sleep(ctx, min(max(time.Duration(e.Config.ReconnectInterval)*time.Second/10, minReconnect), maxReconnect)) // fails only when ctx ends
	}
}

// open dials. Feishu says in headers why it refuses.
func open(ctx context.Context, address string) (*websocket.Conn, error) {
	conn, res, err := websocket.Dial(ctx, address, nil) //nolint:bodyclose // the library closes it
	if err == nil {
		return conn, nil
	}
	if res != nil && res.Header.Get("Handshake-Status") != "" {
		err = fmt.Errorf("the long connection is refused: %s %s %s", res.Header.Get("Handshake-Status"), res.Header.Get("Handshake-Msg"), res.Header.Get("Handshake-Autherrcode"))
		if res.Header.Get("Handshake-Autherrcode") == "1000040350" { // the app has 50 connections already
			return nil, &responder.RetryError{After: time.Minute, Err: err}
		}
		return nil, err
	}
	return nil, errors.New("the long connection cannot be opened") // the address has a secret
}

// receive reads frames until the connection breaks. It has broken too if no frame comes for two pings.
func (s *App) receive(ctx context.Context, conn *websocket.Conn, e *endpoint) error {
	u, _ := url.Parse(e.URL) // it was dialled
	service, _ := strconv.ParseInt(u.Query().Get("service_id"), 10, 32)
	every := cmp.Or(s.opts.Ping, e.ping())
	ctx, cancel := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	pinging.Go(func() {
		for ping := time.NewTicker(every); ; {
			f := pbbp2.Frame{Service: int32(service), Method: pbbp2.Control, Headers: []pbbp2.Header{{Key: pbbp2.HeaderType, Value: "ping"}}} //nolint:gosec // parsed as one
			if write(ctx, conn, &f) != nil {
				ping.Stop()
				return
			}
			select {
			case <-ping.C:
			case <-ctx.Done():
				ping.Stop()
				return
			}
		}
	})
	defer pinging.Wait()
	defer cancel()
	partial := fragments{}
	for {
		within, stop := context.WithTimeout(ctx, 2*every+min(every, callFor))
		typ, data, err := conn.Read(within)
		stop()
		if err != nil {
			return err
		}
		f, err := pbbp2.Unmarshal(data)
		if err != nil || typ != websocket.MessageBinary || f.Method != pbbp2.Data {
			continue // a pong, or nothing for us
		}
		payload := partial.join(f, s.Clock.Now())
		if payload == nil {
			continue
		}
		s.work.Go(func() { s.received(ctx, conn, f, payload) })
	}
}

// received handles an event, and answers its frame.
func (s *App) received(ctx context.Context, conn *websocket.Conn, f *pbbp2.Frame, payload []byte) {
	began := time.Now()
	answer := struct {
		Code int    `json:"code"`
		Data []byte `json:"data,omitempty"`
	}{Code: http.StatusOK}
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		s.Log.WarnContext(ctx, "dropped a malformed event")
	} else if out, ok := s.respond(ctx, &e); !ok {
		answer.Code = http.StatusInternalServerError
	} else if out.Toast != nil || out.Card != nil {
		answer.Data, _ = encode(out) // maps of strings always marshal
	}
	back := *f
	back.Headers = append(slices.Clip(back.Headers), pbbp2.Header{Key: pbbp2.HeaderBizRT, Value: strconv.FormatInt(time.Since(began).Milliseconds(), 10)})
	back.Payload, _ = json.Marshal(answer) // as above
	if err := write(ctx, conn, &back); err != nil {
		s.Log.InfoContext(ctx, "cannot answer an event", slog.String("error", err.Error()))
	}
}

func write(ctx context.Context, conn *websocket.Conn, f *pbbp2.Frame) error {
	within, cancel := context.WithTimeout(ctx, writeFor)
	defer cancel()
	return conn.Write(within, websocket.MessageBinary, f.Marshal())
}

// fragments holds the parts of payloads that came so far, by message.
type fragments map[string]*partly

type partly struct {
	parts [][]byte
	size  int
	at    time.Time
}

// join returns the payload of a frame once it is complete, and nil before. It drops what does not fit together.
func (all fragments) join(f *pbbp2.Frame, now time.Time) []byte {
	id, sum, seq := f.Header(pbbp2.HeaderMessageID), f.Number(pbbp2.HeaderSum), f.Number(pbbp2.HeaderSeq)
	if sum <= 1 {
		return f.Payload
	}
	for id, one := range all {
		if now.Sub(one.at) > partialFor {
			delete(all, id)
		}
	}
	one := all[id]
	if one == nil && sum <= maxFragments && len(all) < maxPartial {
		one = &partly{parts: make([][]byte, sum), at: now}
		all[id] = one
	}
	if one == nil || seq < 0 || seq >= len(one.parts) || sum != len(one.parts) {
		return nil
	}
	if one.parts[seq] == nil {
		one.size += len(f.Payload)
	}
	one.parts[seq] = f.Payload
	if one.size > maxFrame {
		delete(all, id)
		return nil
	}
	for _, part := range one.parts {
		if part == nil {
			return nil
		}
	}
	delete(all, id)
	return bytes.Join(one.parts, nil)
}
