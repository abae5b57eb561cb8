package daemon_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/httpserver"
)

// log records events in order.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, s)
}

func (l *log) is(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, want) {
		t.Errorf("%v, want %v", l.lines, want)
	}
}

// part runs until it is stopped, and records that.
func part(l *log, name string, err error) daemon.Part {
	return daemon.Part{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		l.add(name)
		return err
	}}
}

func TestPartsAreStoppedOneByOneTheLastOneFirst(t *testing.T) {
	t.Parallel()
	l := &log{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := daemon.Run(ctx, part(l, "server", nil), part(l, "broker", nil), part(l, "web", nil)); err != nil {
		t.Error(err)
	}
	l.is(t, "web", "broker", "server")
}

func TestTheFirstToReturnStopsTheRest(t *testing.T) {
	t.Parallel()
	boom, late := errors.New("boom"), errors.New("late")
	l := &log{}
	err := daemon.Run(t.Context(), part(l, "server", late), daemon.Part{Name: "broker", Run: func(context.Context) error { return boom }}, part(l, "web", nil))
	if !errors.Is(err, boom) || !errors.Is(err, late) || !strings.HasPrefix(err.Error(), "broker: boom") {
		t.Errorf("%v", err)
	}
	l.is(t, "web", "server")
}

func TestAPartThatEndsByItselfIsAnError(t *testing.T) {
	t.Parallel()
	l := &log{}
	err := daemon.Run(t.Context(), part(l, "server", nil), daemon.Part{Name: "broker", Run: func(context.Context) error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "broker ended by itself") {
		t.Errorf("%v", err)
	}
	l.is(t, "server")
}

func TestValuesOfTheContextReachTheParts(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
	err := daemon.Run(ctx, daemon.Part{Name: "p", Run: func(ctx context.Context) error {
		if ctx.Value(key{}) != "v" {
			t.Error("no value")
		}
		cancel()
		<-ctx.Done()
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
}

func TestARequestUnderWayIsFinished(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, release := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	part := daemon.HTTP("web", ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-release
		if r.Context().Err() != nil {
			t.Error("the request was cut off")
		}
		_, _ = io.WriteString(w, "whole")
	}), httpserver.Limits{}, time.Minute)
	go func() { done <- part.Run(ctx) }()
	got := make(chan string, 1)
	go func() {
		req, _ := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+ln.Addr().String(), nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		got <- string(body)
	}()
	<-began
	cancel()
	close(release)
	if body := <-got; body != "whole" {
		t.Error(body)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

func TestOps(t *testing.T) {
	t.Parallel()
	var why error
	h := daemon.Ops(func() error { return why }, http.NotFoundHandler(), true)
	local := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}))
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(local, http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path); code != 200 || body != "ok\n" {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, body := get("/debug/pprof/"); code != 200 || !strings.Contains(body, "goroutine") {
		t.Errorf("pprof: %d", code)
	}
	why = errors.New("the ledger is away")
	if code, body := get("/readyz"); code != 503 || !strings.Contains(body, "the ledger is away") {
		t.Errorf("%d %q", code, body)
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("%d: not ready is not dead", code)
	}
}

// TestSignals is not parallel: it sends one to this process.
func TestSignals(t *testing.T) {
	ctx, stop := daemon.Signals(t.Context())
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
