// Package halfopen lets a fake's server lose a connection so that its client is not told, as a network does that drops
// what it carries.
package halfopen

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// Conn is a connection that can be lost.
type Conn struct {
	net.Conn
	lost atomic.Bool
}

// Lose makes the connection carry nothing any more, in either direction. It stays open until the client closes it.
func (c *Conn) Lose() { c.lost.Store(true) }

// Read reads what was sent before the connection was lost.
func (c *Conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.lost.Load() {
			return n, err
		}
	}
}

// Write writes; once the connection is lost, to nobody.
func (c *Conn) Write(b []byte) (int, error) {
	if c.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

type key struct{}

// Listen returns a listener for a server whose requests [Of] knows. Call it before the server starts.
func Listen(s *http.Server, l net.Listener) net.Listener {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, c) }
	return listener{l}
}

// Of returns the connection of a request.
func Of(r *http.Request) *Conn {
	c, _ := r.Context().Value(key{}).(*Conn) // nil: the server has another listener
	return c
}

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c}, nil
}
