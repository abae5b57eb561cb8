package httpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// serve serves h until the test ends.
func serve(t *testing.T, h http.HandlerFunc, limits httpserver.Limits) (*httpserver.Server, string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httpserver.New(ln, h, limits)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, 0) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !strings.Contains(err.Error(), "deadline") {
			t.Error(err)
		}
	})
	return s, ln.Addr().String()
}

// guarded authenticates by name and then reads the body.
func guarded(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("Authorization")
	if name == "" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if err := httpserver.Identify(r, name); err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	if _, err := io.ReadAll(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusRequestTimeout)
		return
	}
	fmt.Fprint(w, "welcome")
}

func dial(t *testing.T, addr, send string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	return conn
}

// status returns the status of one response, or 0 if the connection just ends.
func status(t *testing.T, conn net.Conn) int {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(waittest.Limit)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // as net returns it
			t.Fatal("nothing comes, and the connection stays open")
		}
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

// ends waits until the server has closed the connection.
func ends(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(waittest.Limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // as net returns it
			t.Fatal("the connection stays open")
		}
	}
}

func half(name string) string {
	if name != "" {
		name = "Authorization: " + name + "\r\n"
	}
	return "POST / HTTP/1.1\r\nHost: x\r\n" + name + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("x", 1000)
}

func whole(name string) string {
	return "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: " + name + "\r\n\r\n"
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// TestHalfABodyWithoutATokenHoldsNothing is not parallel: it measures memory.
func TestHalfABodyWithoutATokenHoldsNothing(t *testing.T) {
	s, addr := serve(t, guarded, httpserver.Limits{Connections: 2000, PerAddress: 2000, Unidentified: 1000, BodyTimeout: 2 * time.Second})
	before := heap()
	conns := make([]net.Conn, 500)
	for i := range conns {
		conns[i] = dial(t, addr, half(""))
	}
	for _, conn := range conns {
		if got := status(t, conn); got != http.StatusUnauthorized && got != 0 {
			t.Fatalf("status %d", got)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 40<<20 {
		t.Errorf("500 connections without a token hold %d KiB", grown>>10)
	}
	for _, conn := range conns {
		ends(t, conn)
	}
	settle(t, s, 0)
}

// settle waits until n connections are open.
func settle(t *testing.T, s *httpserver.Server, want int) {
	t.Helper()
	limit := time.After(waittest.Limit)
	for {
		if open, _ := s.Connections(); open == want {
			return
		}
		select {
		case <-limit:
			open, unidentified := s.Connections()
			t.Fatalf("%d connections are open, %d of them not identified; want %d", open, unidentified, want)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestHalfARequestIsClosedAtItsDeadline(t *testing.T) {
	t.Parallel()
	s, addr := serve(t, guarded, httpserver.Limits{HeaderTimeout: 3 * time.Second, BodyTimeout: time.Second})
	header := dial(t, addr, "GET / HTTP/1.1\r\nHost:")
	nothing := dial(t, addr, "")
	if got := status(t, dial(t, addr, half("mei"))); got != http.StatusRequestTimeout {
		t.Errorf("half a body: status %d", got)
	}
	ends(t, header)
	ends(t, nothing)
	settle(t, s, 0)
}

func TestAWaitOutlivesTheDeadlineOfItsBody(t *testing.T) {
	t.Parallel()
	gone := make(chan bool, 1)
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
		}
		gone <- r.Context().Err() != nil
		fmt.Fprint(w, "late")
	}, httpserver.Limits{BodyTimeout: 100 * time.Millisecond})
	conn := dial(t, addr, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
	if got := status(t, conn); got != http.StatusOK || <-gone {
		t.Errorf("status %d", got)
	}
	conn2 := dial(t, addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if got := status(t, conn2); got != http.StatusOK || <-gone {
		t.Errorf("without a body: status %d", got)
	}
}

func TestAnUnreadBodyDoesNotHoldItsConnection(t *testing.T) {
	t.Parallel()
	s, addr := serve(t, func(http.ResponseWriter, *http.Request) {}, httpserver.Limits{BodyTimeout: time.Hour})
	conn := dial(t, addr, half(""))
	if got := status(t, conn); got != http.StatusOK && got != 0 {
		t.Errorf("status %d", got)
	}
	settle(t, s, 0)
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]httpserver.Limits{
		"in all":         {Connections: 3, PerAddress: 100, Unidentified: 100},
		"of one address": {Connections: 100, PerAddress: 3, Unidentified: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, addr := serve(t, guarded, limits)
			held := make([]net.Conn, 3)
			for i := range held {
				held[i] = dial(t, addr, whole(fmt.Sprint("n", i)))
				if got := status(t, held[i]); got != http.StatusOK {
					t.Fatalf("status %d", got)
				}
			}
			more := dial(t, addr, "")
			if got := status(t, more); got != http.StatusServiceUnavailable {
				t.Errorf("one too many: status %d", got)
			}
			ends(t, more)
			if _, err := io.WriteString(held[0], whole("n0")); err != nil || status(t, held[0]) != http.StatusOK {
				t.Errorf("the others are not served: %v", err)
			}
			_ = held[1].Close()
			settle(t, s, 2)
			if got := status(t, dial(t, addr, whole("n3"))); got != http.StatusOK {
				t.Errorf("after one has left: status %d", got)
			}
		})
	}
}

func TestTheOldestUnidentifiedConnectionIsClosed(t *testing.T) {
	t.Parallel()
	s, addr := serve(t, guarded, httpserver.Limits{Connections: 100, PerAddress: 100, Unidentified: 2})
	known := dial(t, addr, whole("mei"))
	if got := status(t, known); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	silent := make([]net.Conn, 10)
	for i := range silent {
		silent[i] = dial(t, addr, "")
	}
	for _, conn := range silent[:8] {
		ends(t, conn)
	}
	settle(t, s, 3)
	if _, err := io.WriteString(known, whole("mei")); err != nil || status(t, known) != http.StatusOK {
		t.Errorf("who is known is not served: %v", err)
	}
	if got := status(t, dial(t, addr, whole("ben"))); got != http.StatusOK {
		t.Errorf("somebody new: status %d", got)
	}
}

// twoOfMei opens two connections with Mei's credential, as many as limits allow:
// it fails unless a third is refused and another credential is served.
func twoOfMei(t *testing.T, limits httpserver.Limits) (first net.Conn, addr string) {
	t.Helper()
	_, addr = serve(t, guarded, limits)
	first = dial(t, addr, whole("mei"))
	for _, conn := range []net.Conn{first, dial(t, addr, whole("mei"))} {
		if got := status(t, conn); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
	}
	if got := status(t, dial(t, addr, whole("mei"))); got != http.StatusTooManyRequests {
		t.Errorf("one too many: status %d", got)
	}
	if got := status(t, dial(t, addr, whole("ben"))); got != http.StatusOK {
		t.Errorf("another credential: status %d", got)
	}
	return first, addr
}

func TestConnectionsOfACredentialAreBounded(t *testing.T) {
	t.Parallel()
	one, addr := twoOfMei(t, httpserver.Limits{Connections: 100, PerAddress: 100, PerCredential: 2})
	if _, err := io.WriteString(one, whole("ben")); err != nil || status(t, one) != http.StatusOK { // now it is Ben's
		t.Errorf("another credential on the same connection: %v", err)
	}
	if got := status(t, dial(t, addr, whole("mei"))); got != http.StatusOK {
		t.Errorf("after one is another's: status %d", got)
	}
}

// The rate is of new connections: those that are open go on, and closing some
// makes no room.
func TestNewConnectionsHaveARate(t *testing.T) {
	t.Parallel()
	s, addr := serve(t, guarded, httpserver.Limits{Connections: 100, PerAddress: 100, PerMinute: 3})
	held := dial(t, addr, whole("mei"))
	if got := status(t, held); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	for range 2 {
		conn := dial(t, addr, whole("mei"))
		if got := status(t, conn); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
		_ = conn.Close()
	}
	settle(t, s, 1)
	more := dial(t, addr, "")
	if got := status(t, more); got != http.StatusServiceUnavailable {
		t.Errorf("one too many: status %d", got)
	}
	ends(t, more)
	if _, err := io.WriteString(held, whole("mei")); err != nil || status(t, held) != http.StatusOK {
		t.Errorf("an open connection is not served: %v", err)
	}
}

func TestNewConnectionsOfACredentialHaveARate(t *testing.T) {
	t.Parallel()
	held, _ := twoOfMei(t, httpserver.Limits{Connections: 100, PerAddress: 100, NewPerMinute: 2})
	if _, err := io.WriteString(held, whole("mei")); err != nil || status(t, held) != http.StatusOK {
		t.Errorf("an open connection is not served: %v", err)
	}
}

// TestNothingIsLeftOf2000Connections is not parallel: it counts goroutines.
func TestNothingIsLeftOf2000Connections(t *testing.T) {
	s, addr := serve(t, guarded, httpserver.Limits{Connections: 16, PerAddress: 16, Unidentified: 4})
	before := runtime.NumGoroutine()
	for i := range 2000 {
		conn := dial(t, addr, []string{whole("mei"), half(""), ""}[i%3])
		if i%3 == 0 {
			status(t, conn)
		}
		_ = conn.Close()
	}
	settle(t, s, 0)
	if now := runtime.NumGoroutine(); now > before+100 {
		t.Errorf("%d goroutines, %d before", now, before)
	}
}

// A server that leaves still serves, and no client comes again over a connection that is about to close: not after a
// request that comes meanwhile, nor after one that was held.
func TestAServerThatLeavesSendsItsClientsElsewhere(t *testing.T) {
	t.Parallel()
	held, release := make(chan struct{}), make(chan struct{})
	s, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			close(held)
			<-release
		}
		fmt.Fprint(w, "here")
	}, httpserver.Limits{})
	get := func(path string) (closes bool) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Error(err)
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return false
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "here" {
			t.Errorf("%s: %q, %v", path, body, err)
		}
		return resp.Close
	}
	if get("/") {
		t.Error("a server that stays ended a connection")
	}
	waits := make(chan bool, 1)
	go func() { waits <- get("/held") }()
	<-held
	s.Leave(0)
	if !get("/") {
		t.Error("the connection of a request that came meanwhile stays open")
	}
	close(release)
	if !<-waits {
		t.Error("the connection of a request that was held stays open")
	}
}
