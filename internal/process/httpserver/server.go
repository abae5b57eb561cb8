package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// errTooMany refuses a request whose credential has reached its limit of connections.
var errTooMany = error(ask.Refusal(ask.CodeQuota, ask.FaultManyConnections))

// errTooFast refuses a request on a new connection of a credential that opens
// too many in a minute.
var errTooFast = error(ask.Refusal(ask.CodeQuota, ask.FaultFastConnections))

type connKey struct{}

// Identify counts the connection of a request for a credential, named by a token's id or a
// principal. Handlers call it after authentication and before reading the body. The error is
// errTooMany or errTooFast. Without a [Server], as in some tests, it does nothing.
func Identify(r *http.Request, credential string) error {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return nil
	}
	return c.identify(credential)
}

// secured is a listener whose connections use TLS.
type secured struct {
	net.Listener
	config *tls.Config
}

// Secure makes the [Server] of a listener use TLS. Limits count connections from their first byte,
// and the timeout of headers includes the handshake.
func Secure(ln net.Listener, config *tls.Config) net.Listener { return secured{ln, config} }

// IsSecure reports whether a listener comes from [Secure].
func IsSecure(ln net.Listener) bool {
	_, ok := ln.(secured)
	return ok
}

// Server serves one listener.
type Server struct {
	ln      *listener
	config  *tls.Config // nil: no TLS
	srv     *http.Server
	leaving atomic.Bool // see Leave
}

// New makes a server. It starts nothing.
func New(ln net.Listener, h http.Handler, limits Limits) *Server {
	limits.fill()
	s := &Server{}
	s.srv = &http.Server{
		Handler: s.farewell(bodies(h, limits)), ReadHeaderTimeout: limits.HeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, counted(c))
		},
		ErrorLog: log.New(errorLog{}, "", log.LstdFlags),
	}
	if t, ok := ln.(secured); ok {
		ln, s.config = t.Listener, t.config
	}
	s.ln = newListener(ln, limits)
	s.ln.silent = s.config != nil
	return s
}

// counted returns the counted connection below a connection.
func counted(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// errorLog logs to standard error, except failed handshakes, which any client can cause without
// limit.
type errorLog struct{}

func (errorLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		return len(line), nil
	}
	return os.Stderr.Write(line)
}

// Run serves until ctx ends; then it finishes running requests for at most grace. Responses have no
// time limit: waits and streams are long.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	s.srv.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	failed := make(chan error, 1)
	var ln net.Listener = s.ln
	if s.config != nil {
		ln = tls.NewListener(ln, s.config)
	}
	go func() { failed <- s.srv.Serve(ln) }()
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

// Leave sends clients elsewhere before the server stops, so that none of their requests comes too late. For a time it
// serves as before, and ends each connection with its response; then it closes the idle ones. Requests that are held
// until then end theirs as well.
func (s *Server) Leave(linger time.Duration) {
	s.leaving.Store(true)
	time.Sleep(linger)
	s.srv.SetKeepAlivesEnabled(false)
}

// farewell ends the connection of each request of a server that leaves.
func (s *Server) farewell(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
