package mattermost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/coder/websocket"
)

// Bounds of the connection.
const (
	maxEvent  = 1 << 20
	pingEvery = 30 * time.Second
	againIn   = 5 * time.Second
)

// happened is an event of the server.
type happened struct {
	Event  string `json:"event"`
	Reply  int    `json:"seq_reply"` // to what was sent
	Status string `json:"status"`    // of a reply
	Data   struct {
		Kind string `json:"channel_type"` // "D": a private chat
		Post string `json:"post"`         // JSON in a text
	} `json:"data"`
}

// hear holds a connection on which the server tells what is written where the bot is, until ctx ends. Buttons and
// dialogs do not need it.
func (s *App) hear(ctx context.Context) {
	for ctx.Err() == nil {
		var conn *websocket.Conn
		s.Retry(ctx, func(ctx context.Context) (err error) {
			conn, err = s.api.events(ctx)
			return err
		})
		if conn == nil {
			return
		}
		err := s.listen(ctx, conn)
		_ = conn.CloseNow()
		if ctx.Err() == nil {
			s.Log.InfoContext(ctx, "the connection to Mattermost ended; opening another", slog.String("error", err.Error()))
			_ = s.Clock.Sleep(ctx, againIn) // fails only when ctx ends
		}
	}
}

// events opens the connection. The server greets only who it knows: it leaves anybody else waiting.
func (a *api) events(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	at := "ws" + strings.TrimPrefix(a.base, "http") + "websocket"
	conn, _, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + a.token}}}) //nolint:bodyclose // the connection owns it
	if err != nil {
		return nil, fmt.Errorf("the server's WebSocket cannot be opened, so that nobody can link their account: %w", err)
	}
	conn.SetReadLimit(maxEvent)
	if e, err := next(ctx, conn); err != nil || e.Event != "hello" {
		_ = conn.CloseNow()
		return nil, fmt.Errorf("the server's WebSocket does not take the token, so that nobody can link their account: %w", cmp.Or(err, errors.New("no greeting")))
	}
	return conn, nil
}

// next reads an event, or a reply.
func next(ctx context.Context, conn *websocket.Conn) (e happened, err error) {
	_, data, err := conn.Read(ctx)
	if err == nil {
		_ = json.Unmarshal(data, &e) // what is not JSON is nothing that is handled
	}
	return e, err
}

// ping asks the server for a reply, in its own protocol: it answers the WebSocket's pings also where the session has ended, as of a
// bot that was disabled for a moment, and tells nothing there any more.
func ping(conn *websocket.Conn, replies <-chan string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := conn.Write(ctx, websocket.MessageText, []byte(`{"seq":1,"action":"ping"}`)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case status := <-replies:
			if status != "OK" {
				return errors.New("the session has ended")
			}
			return nil
		}
	}
}

// listen reads events until the connection breaks, or no ping is answered.
func (s *App) listen(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make(chan string, 1)
	s.after.Go(func() {
		_ = chat.Probe(ctx, cmp.Or(s.opts.Ping, pingEvery), ping(conn, replies))
		_ = conn.CloseNow() // which ends the reading
	})
	for {
		e, err := next(ctx, conn)
		switch {
		case err != nil:
			return err
		case e.Reply != 0:
			select {
			case replies <- e.Status:
			default: // nobody waits for it
			}
		case e.Event == "posted" && e.Data.Kind == "D":
			s.wrote(ctx, e.Data.Post)
		}
	}
}
