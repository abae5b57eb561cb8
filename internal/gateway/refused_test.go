package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/gateway"
	"github.com/askbus/askbus/internal/gateway/access"
	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
)

// Every refusal for a caller's identity or rights is reported with the caller; other faults of a
// request are not.
func TestRefusalsAreReportedWithTheCaller(t *testing.T) {
	t.Parallel()
	told := make(chan access.Refusal, 100)
	d := open(t, gateway.Options{
		Refused: func(r access.Refusal) { told <- r },
		Swap: func(context.Context, string, string) ([]byte, error) {
			return nil, ask.Refuse(ask.CodeUnauthorized, "this token is of nobody")
		},
	})
	agent, host := d.agent("s1"), d.token(token.Token{Role: token.Host, Sessions: []string{"s1"}, Principal: "os:ben"})
	id := func(secret string) string { return strings.Split(secret, "_")[1] }
	for name, c := range map[string]struct {
		secret, method, path, body string
		status                     int
		want                       access.Refusal // without why and address; its token has an id alone
	}{
		"no token":           {"", "GET", "/v1/asks", "", 401, access.Refusal{What: "GET /v1/asks"}},
		"an unknown token":   {"askb_abc_def", "GET", "/v1/asks", "", 401, access.Refusal{What: "GET /v1/asks", Claimed: "abc"}},
		"one in the path":    {"", "GET", "/t/askb_abc_def/v1/asks", "", 401, access.Refusal{What: "GET /v1/asks", Claimed: "abc"}},
		"no form of a token": {"askb_abc", "GET", "/v1/asks", "", 401, access.Refusal{What: "GET /v1/asks"}},
		"a long id":          {"askb_" + strings.Repeat("a", 99) + "_b", "GET", "/v1/asks", "", 401, access.Refusal{What: "GET /v1/asks"}},
		"an agent answers":   {agent, "POST", "/v1/asks/s1/a1/answer", `{}`, 403, access.Refusal{What: "POST /v1/asks/{session}/{id}/answer", Token: token.Token{ID: id(agent), Tenant: "acme"}}},
		"a host's token":     {host, "GET", "/v1/asks", "", 403, access.Refusal{What: "GET /v1/asks", Token: token.Token{ID: id(host), Tenant: "acme"}}},
		"another tenant":     {agent, "GET", "/v1/asks?tenant=other", "", 403, access.Refusal{What: "GET /v1/asks", Token: token.Token{ID: id(agent), Tenant: "acme"}}},
		"a socket":           {"", "GET", "/ws", "", 401, access.Refusal{What: "GET /ws"}},
		"an exchange":        {"foreign", "POST", "/v1/credentials", "", 401, access.Refusal{What: "POST /v1/credentials"}},
		"a new method":       {"", "BREW", "/ws", "", 405, access.Refusal{}},
		"no such ask":        {agent, "GET", "/v1/asks/s1/nothing", "", 404, access.Refusal{}},
		"a bad body":         {agent, "POST", "/v1/asks", `{`, 400, access.Refusal{}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, d.url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.body == "" {
			req.Body = nil
		} else {
			req.Header.Set("Content-Type", "application/json")
		}
		if c.secret != "" {
			req.Header.Set("Authorization", "Bearer "+c.secret)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s: status %d", name, res.StatusCode)
		}
		var got access.Refusal
		select {
		case got = <-told: // before the caller had its answer
		default:
		}
		if len(told) > 0 {
			t.Errorf("%s: it is told twice", name)
			<-told
		}
		if (got.What != "") != (got.Address == "127.0.0.1" && got.Why != "" && got.Code != "") {
			t.Errorf("%s: %+v", name, got)
		}
		if got.What != c.want.What || got.Claimed != c.want.Claimed || got.Token.ID != c.want.Token.ID || got.Token.Tenant != c.want.Token.Tenant {
			t.Errorf("%s: told %+v", name, got)
		}
		if strings.Contains(got.Why+got.What, "_def") {
			t.Errorf("%s: a secret is told: %+v", name, got)
		}
	}
}

// A frame that is refused is reported like the request that opened its socket.
func TestRefusedFramesAreReported(t *testing.T) {
	t.Parallel()
	told := make(chan access.Refusal, 100)
	d := open(t, gateway.Options{Refused: func(r access.Refusal) { told <- r }})
	agent := d.agent("s1")
	w := d.dial(agent, "")
	w.send(`{"type":"interaction_response","data":{"id":"a","result":"A"}}`)
	w.next("error")
	if f := <-told; f.What != "GET /ws" || f.Code != ask.CodeForbidden || f.Token.ID != strings.Split(agent, "_")[1] || f.Address != "127.0.0.1" || !strings.Contains(f.Why, "interaction_response") {
		t.Errorf("reported is %+v", f)
	}
	w.send(`{"type":"nonsense"}`)
	w.next("error")
	if len(told) > 0 {
		t.Errorf("a malformed frame is reported: %+v", <-told)
	}
}

// A subscriber's /64 is one address, and many strangers keep nobody else out of
// the exchange.
func TestRefusedExchangesOfManyAddresses(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{Swap: func(_ context.Context, secret, _ string) ([]byte, error) {
		if secret == "good" {
			return []byte("{}"), nil
		}
		return nil, ask.Refuse(ask.CodeUnauthorized, "this token is of nobody")
	}})
	h := d.gateway.Handler()
	swap := func(from, secret string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/credentials", http.NoBody)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for i := range 60 {
		if code := swap(fmt.Sprintf("[2001:db8::%x]:9", i+1), "bad"); code != http.StatusUnauthorized {
			t.Fatalf("token %d: status %d", i, code)
		}
	}
	if code := swap("[2001:db8::ffff]:9", "bad"); code != http.StatusTooManyRequests {
		t.Errorf("another address of the same /64: status %d", code)
	}
	for i := range 5000 {
		if code := swap(fmt.Sprintf("[2001:db8:%x:1::1]:9", i), "bad"); code != http.StatusUnauthorized {
			t.Fatalf("network %d: status %d", i, code)
		}
	}
	if code := swap("192.0.2.7:9", "good"); code != http.StatusOK {
		t.Errorf("a good token after strangers of 5,000 networks: status %d", code)
	}
}
