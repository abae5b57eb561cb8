package guard_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/guard"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// remote connects to a server and returns what it sends, by line.
func remote(t *testing.T, handler http.HandlerFunc) (side guard.Side, lines chan string) {
	t.Helper()
	server := httptest.NewServer(handler)
	side = guard.Connect(t.Context(), server.URL, http.Header{"Authorization": {"Bearer secret"}})
	lines = make(chan string, 64)
	go read(side.In, lines)
	t.Cleanup(func() {
		_ = side.Out.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return side, lines
}

func send(t *testing.T, side guard.Side, message string) {
	t.Helper()
	if _, err := io.WriteString(side.Out, message+"\n"); err != nil {
		t.Error(err)
	}
}

func receive(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line, open := <-lines:
		if !open {
			t.Fatal("the remote server's side has ended")
		}
		return strings.TrimSpace(line)
	case <-time.After(waittest.Limit):
		t.Fatal("nothing arrives")
		return ""
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`

// id returns the id of a request's message.
func id(t *testing.T, r *http.Request) (id, method string) {
	t.Helper()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		t.Error(err)
	}
	return string(m.ID), m.Method
}

func TestARemoteServerKeepsItsSession(t *testing.T) {
	t.Parallel()
	ended, pushed := make(chan string, 1), make(chan struct{})
	side, lines := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("authorization %q", got)
		}
		session, version := r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version")
		switch r.Method {
		case http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\n"+"data: \"method\":\"notifications/tools/list_changed\"}\n\n")
			w.(http.Flusher).Flush() //nolint:forcetypeassert // of httptest
			close(pushed)
			<-r.Context().Done()
			return
		case http.MethodDelete:
			ended <- session
			return
		}
		id, method := id(t, r)
		if method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "session-1")
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, id)
			return
		}
		if session != "session-1" || version != "2025-06-18" {
			t.Errorf("session %q, version %q", session, version)
		}
		if method == "notifications/initialized" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = fmt.Fprintf(w, ": comment\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", id)
	})
	send(t, side, initialize)
	if got := receive(t, lines); !strings.Contains(got, "2025-06-18") {
		t.Error(got)
	}
	<-pushed
	if got := receive(t, lines); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("of the server's own stream: %s", got)
	}
	send(t, side, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(t, side, `{"jsonrpc":"2.0","id":"a","method":"tools/call"}`)
	for _, want := range []string{"notifications/progress", `"id":"a","result":{}`} {
		if got := receive(t, lines); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if err := side.Out.Close(); err != nil {
		t.Error(err)
	}
	if got := <-ended; got != "session-1" {
		t.Errorf("the session %q is ended", got)
	}
}

// A server may end the stream of a call that takes long, and expects the client to come back for the rest.
func TestARemoteServersStreamIsContinued(t *testing.T) {
	t.Parallel()
	var began, failed atomic.Bool
	side, lines := remote(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodPost {
			id, method := id(t, r)
			if method == "initialize" {
				_, _ = fmt.Fprintf(w, "data: {\"id\":%s,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n\n", id)
				return
			}
			_, _ = fmt.Fprintf(w, "id: %s 1\nretry: 1\ndata: \n\n", method)
			return
		}
		switch last := r.Header.Get("Last-Event-Id"); last {
		case "":
			if began.Swap(true) {
				t.Error("the server's own stream begins twice")
			}
			_, _ = io.WriteString(w, "id: own 1\nretry: 1\ndata: {\"method\":\"first\"}\n\n")
		case "own 1":
			_, _ = io.WriteString(w, "id: own 2\ndata: {\"method\":\"second\"}\n\n")
		case "slow 1":
			if !failed.Swap(true) {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = io.WriteString(w, "id: slow 2\ndata: \n\n")
		case "slow 2":
			_, _ = io.WriteString(w, "id: slow 3\ndata: {\"id\":\"a\",\"result\":{}}\n\n")
		case "lost 1":
			w.WriteHeader(http.StatusNotFound)
		case "own 2":
			<-r.Context().Done()
		default:
			t.Errorf("after %q", last)
		}
	})
	send(t, side, initialize)
	for _, want := range []string{"2025-11-25", "first", "second"} {
		if got := receive(t, lines); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	send(t, side, `{"jsonrpc":"2.0","id":"a","method":"slow"}`)
	if got := receive(t, lines); got != `{"id":"a","result":{}}` {
		t.Error(got)
	}
	send(t, side, `{"jsonrpc":"2.0","id":"b","method":"lost"}`)
	if got := receive(t, lines); !strings.Contains(got, `"id":"b"`) || !strings.Contains(got, "cannot be continued") {
		t.Error(got)
	}
}

func TestARemoteServerThatFailsIsSaid(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the token went elsewhere") }))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "give the address it redirects to"},
		"no right": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "--token-file"},
		"an error": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "upstream is away", http.StatusBadGateway) }, "502 Bad Gateway: upstream is away"},
		"a page":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "not with JSON or an event stream"},
		"a stream that breaks": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"method\":\"x\"}\n\n")
		}, "ended without a response"},
		"a line too long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			pad := strings.Repeat(" ", 1<<20)
			for range 80 {
				_, _ = io.WriteString(w, pad)
			}
		}, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			side, lines := remote(t, c.serve)
			send(t, side, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
			got := receive(t, lines)
			if strings.Contains(got, `"method":"x"`) {
				got = receive(t, lines)
			}
			if !strings.Contains(got, `"id":7`) || !strings.Contains(got, `"error"`) || !strings.Contains(got, c.want) {
				t.Errorf("the client reads %s, want %q", got, c.want)
			}
		})
	}
}

// TestTwoThousandCallsOfARemoteServerLeaveNothing is not parallel: it counts
// goroutines of the process.
func TestTwoThousandCallsOfARemoteServerLeaveNothing(t *testing.T) {
	t.Cleanup(natstest.NoGoroutines(t)) // after the server's end
	var open, most atomic.Int64
	var mu sync.Mutex
	side, lines := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		now := open.Add(1)
		defer open.Add(-1)
		mu.Lock()
		most.Store(max(most.Load(), now))
		mu.Unlock()
		id, _ := id(t, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	})
	const calls = 2000
	go func() {
		to := bufio.NewWriter(side.Out)
		for i := range calls {
			_, _ = fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
		}
		_ = to.Flush()
	}()
	seen := make(map[string]bool)
	for range calls {
		seen[receive(t, lines)] = true
	}
	if len(seen) != calls || most.Load() > 64 {
		t.Errorf("%d responses, %d requests at once", len(seen), most.Load())
	}
}
