package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/pkg/ask"
)

// unlocked serves session s1 without a token.
func (d *fixture) unlocked() string {
	d.t.Helper()
	h, err := d.gateway.Unlocked("acme", "s1")
	if err != nil {
		d.t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	d.t.Cleanup(srv.Close)
	return srv.URL
}

// post sends a request like an unmodified client of the CLI-to-web dialect.
func post(ctx context.Context, method, url, body string, headers ...string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

func TestUnlocked(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	url := d.unlocked()
	screen := d.dial(d.screen("s1"), "")
	screen.quiet()
	type said struct {
		status int
		body   string
	}
	done := make(chan said, 1)
	go func() {
		status, body, err := post(t.Context(), "POST", url+"/api/interact/ask", `{"sessionId":"s1","question":"Which?","options":[{"label":"A"},{"label":"B"}]}`)
		if err != nil {
			t.Error(err)
		}
		done <- said{status, body}
	}()
	f := screen.next("interaction_request")
	// It may read its ask and continue to wait, but not answer.
	if status, body, err := post(t.Context(), "GET", url+"/v1/asks/s1/"+f.Data.ID+"?dialect=interact", ""); err != nil || status != 504 || strings.Contains(body, "askb_") {
		t.Errorf("%d %s %v", status, body, err)
	}
	for _, path := range []string{"/v1/asks/s1/" + f.Data.ID + "/answer", "/v1/asks/s1/" + f.Data.ID + "/decline", "/v1/events", "/v1/asks", "/ws", "/v1/hook"} {
		if status, body, err := post(t.Context(), "POST", url+path, `{"answers":[{"question_id":"q1","selected":["o1"]}]}`); err != nil || status != 404 {
			t.Errorf("%s: %d %s %v", path, status, body, err)
		}
	}
	d.answers(ask.Key{Tenant: "acme", Session: "s1", ID: f.Data.ID}, ask.Answer{QuestionID: "q1", Selected: []string{"o2"}})
	if got := <-done; got.status != 200 || got.body != `{"result":"B"}` {
		t.Errorf("%+v", got)
	}
}

func TestUnlockedRefusals(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{CORSOrigins: []string{"https://chat.example.com"}, Hosts: []string{"bus.example.com"}})
	url := d.unlocked()
	const body = `{"sessionId":"s1","question":"Which?"}`
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"another session":       {`{"sessionId":"s2","question":"Which?"}`, nil, 403},
		"a name pointed here":   {body, []string{"Host", "bus.example.com"}, 421},
		"a page":                {body, []string{"Origin", "https://evil.example.com"}, 403},
		"a page that may else":  {body, []string{"Origin", "https://chat.example.com"}, 403},
		"a page without origin": {body, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"an opaque page":        {body, []string{"Origin", "null"}, 403},
		"a form":                {body, []string{"Content-Type", "text/plain"}, 415},
		"no content type":       {body, []string{"Content-Type", ""}, 415},
	} {
		if status, said, err := post(t.Context(), "POST", url+"/api/interact/ask", c.body, c.headers...); err != nil || status != c.status {
			t.Errorf("%s: %d, want %d: %s %v", name, status, c.status, said, err)
		}
	}
	if _, err := d.gateway.Unlocked("acme", "s *"); err == nil {
		t.Error("a session that is none is served")
	}
}
