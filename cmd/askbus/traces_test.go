package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// collector is an OTLP collector that records the spans of each trace.
type collector struct {
	mu    sync.Mutex
	spans map[string]string // by trace and name: the parent
	more  chan struct{}
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var sent struct {
		Resources []struct {
			Scopes []struct {
				Spans []struct {
					TraceID      string `json:"traceId"`
					Name         string `json:"name"`
					ParentSpanID string `json:"parentSpanId"`
				} `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, res := range sent.Resources {
		for _, scope := range res.Scopes {
			for _, s := range scope.Spans {
				c.spans[s.TraceID+" "+s.Name] = s.ParentSpanID
			}
		}
	}
	close(c.more)
	c.more = make(chan struct{})
}

// wait waits until a trace has spans with these names.
func (c *collector) wait(t *testing.T, trace string, names ...string) {
	t.Helper()
	timeout := time.After(waittest.Limit)
	for {
		c.mu.Lock()
		missing, more := "", c.more
		for _, name := range names {
			if _, ok := c.spans[trace+" askbus "+name]; !ok {
				missing = name
			}
		}
		all := len(c.spans)
		c.mu.Unlock()
		if missing == "" {
			return
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("no span %q in trace %s, of %d spans", missing, trace, all)
		}
	}
}

// Every endpoint leaves its spans in the caller's trace, up to the outcome that it learns.
func TestEndpointsAndTheCommandLineAreTraced(t *testing.T) {
	t.Parallel()
	c := &collector{spans: map[string]string{}, more: make(chan struct{})}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	env := []string{"ASKBUS_OTLP_ENDPOINT=" + srv.URL}
	bus := place{t, t.TempDir()}
	up := startWith(t, env, "", "up", "--dir", bus.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--no-open")
	up.out.wait(t, "askbus is up.")
	const fromCommand, http1, mcp = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319d"
	parent := func(trace string) string { return "00-" + trace + "-00f067aa0ba902b7-01" }

	asks := startWith(t, append(env, "TRACEPARENT="+parent(fromCommand)), "", "ask", "--dir", bus.dir, "--session", "s1", "--id", "a1", "--question", "Ship it?", "--option", "Yes", "--option", "No")
	up.err.wait(t, "ask_id=a1")
	bus.must(0, "answer", "s1/a1", "--select", "Yes")
	if code := asks.wait(); code != cli.ExitAnswered {
		t.Fatalf("%d %s", code, asks.err)
	}
	c.wait(t, fromCommand, "ask", "broker ask", "told answered")

	token := bus.must(0, "token", "issue", "--session", "s1", "--output", "json")["token"].(string)
	for _, call := range []struct{ path, trace, body string }{
		{"/v1/asks?session=s1", http1, `{"id":"a2","questions":[{"id":"q","text":"Ship it?"}]}`},
		{"/mcp", mcp, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ListPendingQuestions","arguments":{}}}`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bus.context().HTTPURL+call.path, strings.NewReader(call.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Traceparent": parent(call.trace)} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil || res.StatusCode/100 != 2 {
			t.Fatalf("%s: %s %s %v", call.path, res.Status, said, err)
		}
	}
	c.wait(t, http1, "http POST /v1/asks", "ask", "broker ask")
	c.wait(t, mcp, "http POST /mcp", "tool ListPendingQuestions")
}
