package httpserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/server/certificate"
	"github.com/askbus/askbus/internal/testkit/certtest"
)

// secure serves over TLS.
func secure(t *testing.T, h http.Handler, limits httpserver.Limits) (srv *httpserver.Server, ca *certtest.CA, addr string) {
	t.Helper()
	ca = certtest.New(t)
	pair := ca.Fresh(time.Hour, "127.0.0.1")
	k, err := certificate.Open(certificate.Files{Cert: pair.Cert, Key: pair.Key}, certificate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv = httpserver.New(httpserver.Secure(ln, k.HTTP()), h, limits)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, 0) }()
	t.Cleanup(func() { cancel(); <-done })
	return srv, ca, ln.Addr().String()
}

func TestOverTLSTheLimitsCountAsWithout(t *testing.T) {
	t.Parallel()
	srv, ca, addr := secure(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || r.ProtoMajor != 1 {
			t.Errorf("TLS %v, %s", r.TLS != nil, r.Proto)
		}
		if err := httpserver.Identify(r, "mei"); err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
		}
	}), httpserver.Limits{Connections: 40, PerCredential: 2, Unidentified: 8})
	dial := func() *tls.Conn {
		t.Helper()
		c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	get := func(c *tls.Conn) int {
		t.Helper()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	if a, b, c := get(dial()), get(dial()), get(dial()); a != 200 || b != 200 || c != 429 {
		t.Errorf("%d %d %d", a, b, c)
	}
	// A connection without a handshake is counted from the first byte, and closed first.
	for range 100 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if got := get(dial()); got != 429 {
		t.Errorf("%d", got)
	}
	if open, unknown := srv.Connections(); open > 40 || unknown > 8 {
		t.Errorf("%d connections, %d unknown", open, unknown)
	}
}

func TestPlainHTTPIsToldThatThisIsHTTPS(t *testing.T) {
	t.Parallel()
	_, _, addr := secure(t, http.NotFoundHandler(), httpserver.Limits{})
	res, err := http.Get("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != 400 || !strings.Contains(string(body), "HTTPS server") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

func TestNothingIsLeftOfConnectionsOverTLS(t *testing.T) {
	t.Parallel()
	srv, ca, addr := secure(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), httpserver.Limits{})
	for i := range 2000 {
		if i%2 == 0 { // half of them never finish the handshake
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, "\x16\x03\x01")
			_ = c.Close()
			continue
		}
		c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	settle(t, srv, 0)
}
