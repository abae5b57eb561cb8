package daemon_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/daemon"
)

// A page whose name was pointed at this machine can read nothing, and only this
// machine can read memory.
func TestOpsIsGuarded(t *testing.T) {
	t.Parallel()
	h := daemon.Guarded(daemon.Ops(func() error { return nil }, http.NotFoundHandler(), true))
	for _, c := range []struct {
		to, host, path string
		code           int
	}{
		{"127.0.0.1", "127.0.0.1:8421", "/debug/pprof/", 200},
		{"127.0.0.1", "localhost:8421", "/healthz", 200},
		{"127.0.0.1", "", "/readyz", 200}, // HAProxy, with HTTP/1.0
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

// Profiles contain memory: they are served only where they are switched on.
func TestProfilesNeedASwitch(t *testing.T) {
	t.Parallel()
	h := daemon.Ops(func() error { return nil }, http.NotFoundHandler(), false)
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8421}))
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/trace"} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)); w.Code != 404 || !strings.Contains(w.Body.String(), "ASKBUS_PPROF") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
