package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve serves the HTTP handler to callers with the one token; end ends its life.
func (f *fixture) serve() (url string, end func()) {
	f.t.Helper()
	life, end := context.WithCancel(context.Background())
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	endpoint := mcpserver.HTTP{BaseURL: srv.URL, Caller: func(r *http.Request) (mcpserver.Caller, error) {
		if r.Header.Get("Authorization") != "Bearer good" {
			return mcpserver.Caller{}, ask.Refuse(ask.CodeUnauthorized, "there is no token")
		}
		return f.who, nil
	}}
	mux.Handle(mcpserver.Path, f.server.Handler(life, endpoint))
	mux.Handle(mcpserver.MetadataPath+mcpserver.Path, endpoint.Metadata())
	f.t.Cleanup(func() { end(); srv.Close() })
	return srv.URL, end
}

func post(t *testing.T, url, token, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func TestWithoutATokenNobodyAsksOverHTTP(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	url, _ := f.serve()
	res := post(t, url+"/mcp", "bad", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	challenge := res.Header.Get("WWW-Authenticate")
	_, at, _ := strings.Cut(challenge, `resource_metadata="`)
	at, _, _ = strings.Cut(at, `"`)
	if res.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(challenge, "Bearer ") || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%s, %q", res.Status, challenge)
	}
	doc, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Body.Close()
	var metadata map[string]any
	if err := json.NewDecoder(doc.Body).Decode(&metadata); err != nil || metadata["resource"] != url+"/mcp" {
		t.Errorf("the metadata is %v, %v", metadata, err)
	}
}

// authorized sends the token with every request.
type authorized struct{ over http.RoundTripper }

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer good")
	return a.over.RoundTrip(r)
}

func TestOverHTTPInEveryRevision(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, mcpserver.Options{})
			url, _ := f.serve()
			c := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, nil)
			cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: authorized{http.DefaultTransport}}, DisableStandaloneSSE: true},
				&mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer cs.Close()
			f.soon()
			r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if r.isError || !strings.HasPrefix(r.text, "answered by Mei on the web\n") {
				t.Errorf("the result is %+v", r)
			}
		})
	}
}

func TestAStreamBeginsBeforeTheAnswerAndEndsWithItsServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	url, end := f.serve()
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "AskUserQuestion", "arguments": database(map[string]any{"wait_seconds": later}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	res := post(t, url+"/mcp", "good", string(call)) // returns with the header, before the answer
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the stream begins with %q, %v", line, err)
	}
	rec := f.screen.Next(board.Pending)
	end()
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "pending") || !strings.Contains(string(rest), rec.Ask.ID) {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
}

// A client is told that its question waits when its token ends: after a stream without a response, clients wait for their own
// limit.
func TestACallEndsWithItsToken(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, mcpserver.Options{})
			token, revoke := context.WithCancel(t.Context())
			revoked := errors.New("revoked")
			endpoint := mcpserver.HTTP{
				Caller: func(*http.Request) (mcpserver.Caller, error) { return f.who, nil },
				Ended:  func(ctx context.Context) bool { return errors.Is(context.Cause(ctx), revoked) },
			}
			h := f.server.Handler(t.Context(), endpoint)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, end := context.WithCancelCause(r.Context())
				defer end(nil)
				defer context.AfterFunc(token, func() { end(revoked) })()
				h.ServeHTTP(w, r.WithContext(ctx))
			}))
			t.Cleanup(srv.Close)
			c := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, nil)
			cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer cs.Close()
			asked := make(chan ask.Record, 1)
			go func() {
				asked <- f.screen.Next(board.Pending)
				revoke()
			}()
			r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if rec := <-asked; r.isError || r.object["status"] != "pending" || r.object["ask_id"] != rec.Ask.ID {
				t.Errorf("the result is %+v", r)
			}
		})
	}
}

// All HTTP callers share the tools, and each call asks for the caller of its own request.
func TestConcurrentHTTPCallsAskForTheirOwnCallers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	f.server = mcpserver.New(natstest.Opener{Conn: f.bus.Agent("acme", "")}, mcpserver.Options{Logger: natstest.Logger()})
	endpoint := mcpserver.HTTP{Caller: func(r *http.Request) (mcpserver.Caller, error) {
		who, session := f.who, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		who.Session, who.Permissions = session, strings.HasSuffix(session, "p")
		return who, nil
	}}
	srv := httptest.NewServer(f.server.Handler(t.Context(), endpoint))
	t.Cleanup(srv.Close)
	sessions := []string{"one", "two", "three-p", "four-p"}
	var all sync.WaitGroup
	for i := range 5 * len(sessions) {
		all.Go(func() {
			session := sessions[i%len(sessions)]
			res := post(t, srv.URL, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":{"question":"Which of %s, %d?","options":[{"label":"a"},{"label":"b"}],"wait_seconds":0}}}`, session, i))
			if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), "pending") {
				t.Errorf("%s: %s, %v", session, body, err)
			}
			res = post(t, srv.URL, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			if body, err := io.ReadAll(res.Body); err != nil || strings.Contains(string(body), "PermissionPrompt") != strings.HasSuffix(session, "p") {
				t.Errorf("the tools of %s: %s, %v", session, body, err)
			}
		})
	}
	all.Wait()
	for range 5 * len(sessions) {
		a := f.screen.Next(board.Pending).Ask
		if !strings.HasPrefix(a.Questions[0].Text, "Which of "+a.Session+",") {
			t.Errorf("session %s asks %q", a.Session, a.Questions[0].Text)
		}
	}
}

// A stream that broke off is resumed with the id of its event: at any gateway, with the response to the first request, and
// within the time that the call had.
func TestABrokenStreamIsResumed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	url, _ := f.serve()
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{
		"name": "AskUserQuestion", "arguments": database(map[string]any{"wait_seconds": later}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, id, body string) *http.Response {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, method, url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer good"}, "Accept": {"text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"}}
		if id != "" {
			req.Header.Set("Last-Event-ID", id)
		} else {
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cancel(); _ = res.Body.Close() })
		return res
	}
	res := send(http.MethodPost, "", string(call))
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	id, ok := strings.CutPrefix(strings.TrimSpace(line), "id: ")
	if err != nil || !ok {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	_ = res.Body.Close()
	_, made, _ := strings.Cut(id, ".")
	ahead := strconv.FormatInt(time.Now().Add(30*time.Second).UnixMilli(), 36) + "." + made // by the clock of another gateway
	resumed := []*http.Response{send(http.MethodGet, id, ""), send(http.MethodGet, ahead, "")}
	f.answer()
	for _, res := range resumed {
		if rest, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(rest), `"id":7`) || !strings.Contains(string(rest), "answered by Mei on the web") {
			t.Errorf("%s: the rest is %q, %v", res.Status, rest, err)
		}
	}
	for _, id := range []string{"x", "1.", "1.e30", "1." + made, "zzzzzzzzzz." + made, strings.TrimSuffix(id, made) + "e30"} {
		if res := send(http.MethodGet, id, ""); res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%q: %s", id, res.Status)
		}
	}
}
