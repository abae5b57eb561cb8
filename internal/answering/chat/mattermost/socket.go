package mattermost

import (
	"cmp"
	"context"
	"encoding/json"
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
	Event string `json:"event"`
	Data  struct {
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

// events opens the connection.
func (a *api) events(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	at := "ws" + strings.TrimPrefix(a.base, "http") + "websocket"
	conn, _, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + a.token}}}) //nolint:bodyclose // the connection owns it
	if err != nil {
		return nil, fmt.Errorf("the server's WebSocket cannot be opened, so that nobody can link their account: %w", err)
	}
	conn.SetReadLimit(maxEvent)
	return conn, nil
}

// listen reads events until the connection breaks, or no ping is answered.
func (s *App) listen(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.after.Go(func() {
		_ = chat.Probe(ctx, cmp.Or(s.opts.Ping, pingEvery), conn.Ping)
		_ = conn.CloseNow() // which ends the reading
	})
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var e happened
		if json.Unmarshal(data, &e) == nil && e.Event == "posted" && e.Data.Kind == "D" {
			s.wrote(ctx, e.Data.Post)
		}
	}
}
