// Package wsapi is the WebSocket of the gateway: foreign screens show and answer asks, and agents
// ask.
//
// It decides what a socket shows and the dialect of its frames. It promises that a disconnect
// undoes no ask and no answer, that a slow client delays no other, and that [Options] bounds the
// number of sockets and their queues.
package wsapi

import (
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// Options configures a [Server]. All fields are required.
type Options struct {
	MaxSockets   int                  // at once
	MaxPerToken  int                  // sockets of one token
	PerMinute    int                  // new sockets of one token in a minute
	MaxPerSocket int                  // open asks that one socket shows or awaits
	Link         func(ask.Key) string // URL at which people answer an ask
	Now          func() time.Time
	Logger       *slog.Logger
}

// Server serves the sockets. It is safe for concurrent use.
type Server struct {
	access  *access.Control
	asks    *asking.Asks
	resp    *responder.Responder
	board   *board.Board // the asks of screens; the gateway runs it
	opts    Options
	sockets *sockets
	drain   chan struct{} // closed by Close to end all sockets
}

// New makes a server. Its screens show the asks of board and answer through resp.
func New(a *access.Control, asks *asking.Asks, resp *responder.Responder, board *board.Board, opts Options) *Server {
	s := &Server{access: a, asks: asks, resp: resp, board: board, opts: opts, drain: make(chan struct{})}
	s.sockets = newSockets(s)
	return s
}

// Publish sends the board's event to the sockets without waiting; see [board.Board.Subscribe].
func (server *Server) Publish(ev board.Event) { server.sockets.publish(ev) }

// Close closes every socket and waits for them. Call it once.
func (server *Server) Close() {
	close(server.drain)
	server.sockets.close()
}
