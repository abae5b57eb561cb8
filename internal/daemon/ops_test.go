package daemon_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/askbus/askbus/internal/daemon"
)

// A page whose name was pointed at this machine can read nothing, and only this
// machine can read memory.
func TestOpsIsGuarded(t *testing.T) {
	t.Parallel()
	h := daemon.Guarded(daemon.Ops(func() error { return nil }, http.NotFoundHandler()))
	for _, c := range []struct {
		to, host, path string
		code           int
	}{
		{"127.0.0.1", "127.0.0.1:8421", "/debug/pprof/", 200},
		{"127.0.0.1", "localhost:8421", "/healthz", 200},
		{"127.0.0.1", "evil.example:8421", "/healthz", 421},
		{"127.0.0.1", "evil.example", "/debug/pprof/heap", 421},
		{"::1", "evil.example", "/metrics", 421},
		{"10.1.2.3", "10.1.2.3:8421", "/healthz", 200},
		{"10.1.2.3", "broker.askbus.svc:8421", "/healthz", 200},
		{"10.1.2.3", "127.0.0.1:8421", "/debug/pprof/", 403},
		{"10.1.2.3", "10.1.2.3:8421", "/debug/pprof/profile", 403},
		{"10.1.2.3", "10.1.2.3:8421", "/debug/pprof/heap", 403},
	} {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.ParseIP(c.to), Port: 8421}))
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.code {
			t.Errorf("%s as %s on %s: %d, want %d", c.path, c.host, c.to, w.Code, c.code)
		}
	}
}
