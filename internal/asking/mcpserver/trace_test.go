package mcpserver_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/mcpserver"
)

// The parent of a call's span comes from _meta, else from the HTTP header.
func TestACallHasItsCallersTrace(t *testing.T) {
	t.Parallel()
	const ofCall, ofRequest = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	begun := make(chan string, 10)
	f := newFixture(t, mcpserver.Options{Span: func(ctx context.Context, tool, traceparent string) (context.Context, func(error)) {
		return ctx, func(err error) {
			if err != nil {
				t.Error(err)
			}
			begun <- tool + " " + traceparent
		}
	}})
	url, _ := f.serve()
	for _, c := range []struct{ meta, header, want string }{
		{`,"_meta":{"traceparent":"` + ofCall + `"}`, ofRequest, ofCall},
		{"", ofRequest, ofRequest},
		{`,"_meta":{"traceparent":"` + strings.Repeat("0", 200) + `"}`, "", ""},
		{"", "", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ListPendingQuestions","arguments":{}`+c.meta+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer good", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Traceparent": c.header} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res.Status, err)
		}
		if got := <-begun; got != "ListPendingQuestions "+c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
