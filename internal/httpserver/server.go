package httpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// ErrTooMany is the reason for refusing a request whose credential has as many
// connections as it may.
var ErrTooMany = errors.New("this credential has as many connections open as it may; close some, or use another")

type connKey struct{}

// Identify counts the connection of a request as a credential's, whose name is
// a token's id or a principal. Handlers call it once they know who calls, and
// before they read the body. The error is [ErrTooMany]. Elsewhere, as in a
// test without a [Server], it does nothing.
func Identify(r *http.Request, credential string) error {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok || c.identify(credential) {
		return nil
	}
	return ErrTooMany
}

// Server serves one listener.
type Server struct {
	ln  *listener
	srv *http.Server
}

// New makes a server. It starts nothing.
func New(ln net.Listener, h http.Handler, limits Limits) *Server {
	limits.fill()
	return &Server{newListener(ln, limits), &http.Server{
		Handler: bodies(h, limits), ReadHeaderTimeout: limits.HeaderTimeout, IdleTimeout: limits.IdleTimeout, MaxHeaderBytes: limits.MaxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}}
}

// Run serves until ctx ends; then requests under way are finished, for at most
// grace. There is no limit for writing a response: waits and streams are long.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	s.srv.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	failed := make(chan error, 1)
	go func() { failed <- s.srv.Serve(s.ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.srv.Shutdown(end); err != nil {
		return errors.Join(err, s.srv.Close())
	}
	return nil
}

// Connections is how many connections are open, and how many of them no
// request has identified yet.
func (s *Server) Connections() (open, unidentified int) {
	s.ln.mu.Lock()
	defer s.ln.mu.Unlock()
	return s.ln.total, s.ln.unknown.Len()
}
