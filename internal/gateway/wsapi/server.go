// Package wsapi is the WebSocket of the gateway: foreign screens show and answer
// through it, and agents ask.
//
// It decides what a socket shows and in which dialect its frames are. It
// promises that nothing that was asked or answered is undone when a connection
// ends, that a slow client delays nobody, and that the number of sockets and
// what waits for each are bounded by [Options].
package wsapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/askbus/askbus/internal/gateway/access"
	"github.com/askbus/askbus/internal/gateway/asking"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Options tunes a [Server]. All are required.
type Options struct {
	Ping         time.Duration        // between pings of a socket, and how long one may take
	MaxSockets   int                  // at once
	MaxPerToken  int                  // sockets of one token
	MaxPerSocket int                  // open asks that one socket shows or waits for
	Link         func(ask.Key) string // where people answer an ask
	Now          func() time.Time
	Logger       *slog.Logger
}

// Server serves the sockets. It is safe for concurrent use.
type Server struct {
	access  *access.Control
	asks    *asking.Asks
	resp    *responder.Responder
	board   *responder.Board // what screens show; the gateway runs it
	opts    Options
	sockets *sockets
	drain   chan struct{} // closed by Close: sockets end
}

// New makes a server. Its screens show what board has; it answers through resp.
func New(a *access.Control, asks *asking.Asks, resp *responder.Responder, board *responder.Board, opts Options) *Server {
	s := &Server{access: a, asks: asks, resp: resp, board: board, opts: opts, drain: make(chan struct{})}
	s.sockets = newSockets(s)
	return s
}

// Connect serves one connection until it ends.
func (server *Server) Connect(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	return server.socket(w, r, c)
}

// Publish passes on to the sockets what the board says; see [responder.Board.Subscribe]. It waits for nobody.
func (server *Server) Publish(ev responder.Event) { server.sockets.publish(ev) }

// Close ends every socket and waits for them. It is called once.
func (server *Server) Close() {
	close(server.drain)
	server.sockets.close()
}
