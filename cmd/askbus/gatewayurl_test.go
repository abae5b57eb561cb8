package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// With an inbox at one host and a gateway at another, people are sent to the inbox, and programs to the gateway.
// Doctor looks at both.
func TestAnInboxAndAGatewayAtTwoHosts(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	tok := pl.must(0, "token", "issue", "--session", "s1")["token"].(string)
	screen := pl.must(0, "token", "issue", "--session", "s1", "--role", "screen", "--principal", "api:mei")["token"].(string)
	g := startWith(t, []string{"ASKBUS_HTTP_URL=https://inbox.example.com", "ASKBUS_GATEWAY_URL=https://agents.example.com/"}, "", "--dir", pl.dir, "gateway", "--http-addr", "127.0.0.1:0")
	_, at, _ := strings.Cut(g.err.wait(t, "gateway at "), "gateway at ")
	at, _, _ = strings.Cut(at, ",")
	d := startWith(t, []string{"ASKBUS_GATEWAY_URL=" + at}, "", "doctor", "--no-ask", "--dir", pl.dir, "--output", "text")
	if code := d.wait(); code != 0 || !strings.Contains(d.out.String(), "ok      gateway: no TLS at "+at) {
		t.Errorf("doctor: exit %d: %s%s", code, d.out, d.err)
	}
	for _, c := range []struct {
		host, token, method, path, body string
		status                          int
		says                            []string
	}{
		{"agents.example.com", "", "GET", "/.well-known/agent-card.json", "", 200, []string{`"url":"https://agents.example.com/a2a"`}},
		{"agents.example.com", tok, "POST", "/v1/asks", `{"id":"big","questions":[{"text":"Which?","options":[{"label":"A"},{"label":"B"},{"label":"C"},{"label":"D"},{"label":"E"}]}]}`, 201, nil},
		{"agents.example.com", screen, "GET", "/v1/asks/s1/big?dialect=event-pair", "", 200, []string{"https://inbox.example.com/ask/default/s1/big"}},
		{"inbox.example.com", tok, "GET", "/v1/asks/s1/big", "", 200, nil},
		{"other.example.com", tok, "GET", "/v1/asks/s1/big", "", 421, nil},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, at+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		req.Header.Set("Authorization", "Bearer "+c.token)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s%s: %d %s", c.host, c.path, res.StatusCode, said)
		}
		for _, part := range c.says {
			if !strings.Contains(string(said), part) {
				t.Errorf("%s%s does not say %s: %s", c.host, c.path, part, said)
			}
		}
	}
}
