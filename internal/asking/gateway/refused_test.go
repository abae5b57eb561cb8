package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/token"
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

// standing is a clock that stands still until time passes.
type standing struct{ since atomic.Int64 }

var began = time.Now()

func (c *standing) now() time.Time { return began.Add(time.Duration(c.since.Load())) }

func (c *standing) pass(d time.Duration) { c.since.Add(int64(d)) }

// A subscriber's /64 counts as one address, and many strangers do not block
// others from the exchange.
func TestRefusedExchangesOfManyAddresses(t *testing.T) {
	t.Parallel()
	var clock standing
	d := open(t, gateway.Options{Now: clock.now, Swap: func(_ context.Context, secret, _ string) ([]byte, error) {
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
	for range 200 { // of all suspect addresses, at this moment
		swap("[2001:db8::fffe]:9", "bad")
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

// Behind a proxy all callers have one address. A flood of invalid tokens from
// there does not block valid ones, and costs the issuer a bounded number of
// verifications.
func TestInvalidTokensKeepOutNoValidOneOfTheirAddress(t *testing.T) {
	t.Parallel()
	var clock standing
	forwarded := 0
	d := open(t, gateway.Options{Now: clock.now, Swap: func(_ context.Context, secret, _ string) ([]byte, error) {
		forwarded++
		if strings.HasPrefix(secret, "bad") {
			return nil, ask.Refuse(ask.CodeUnauthorized, "this token is of nobody")
		}
		return []byte("{}"), nil
	}})
	h := d.gateway.Handler()
	swap := func(secret string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/credentials", http.NoBody)
		r.RemoteAddr = "192.0.2.7:9"
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	of := d.agent("s1")
	if code := swap("pod"); code != http.StatusOK {
		t.Fatalf("a good token: status %d", code)
	}
	forwarded = 0
	for i := range 5000 {
		if code := swap(fmt.Sprint("bad", i)); code != http.StatusUnauthorized && code != http.StatusTooManyRequests {
			t.Fatalf("invalid token %d: status %d", i, code)
		}
	}
	if forwarded < 60 || forwarded > 60+200 {
		t.Errorf("the issuer got %d of 5,000 invalid tokens of one moment, want the 60 of an address and the 200 of all suspect ones", forwarded)
	}
	if code := swap("another pod"); code != http.StatusTooManyRequests {
		t.Errorf("a token that the issuer never saw, at the same moment: status %d", code)
	}
	for range 5 { // an agent's reconnects
		if code := swap("pod"); code != http.StatusOK {
			t.Errorf("a token that was accepted before: status %d", code)
		}
		if code := swap(of); code != http.StatusOK {
			t.Errorf("an API token: status %d", code)
		}
	}
	clock.pass(10 * time.Millisecond)
	if code := swap("another pod"); code != http.StatusOK {
		t.Errorf("a token that the issuer never saw, 10 ms later: status %d", code)
	}
	for _, name := range []string{"pod", of} { // its own rate ends it, before the issuer
		for range 300 {
			swap(name)
		}
		if before, code := forwarded, swap(name); code != http.StatusTooManyRequests || forwarded != before {
			t.Errorf("more than 300 exchanges of one token in a minute: status %d", code)
		}
	}
	if before, code := forwarded, swap("askb_0_0"); code != http.StatusUnauthorized || forwarded != before {
		t.Errorf("an unknown API token: status %d, want a refusal without the issuer", code)
	}
}

// A token that ends loses its place among the accepted ones.
func TestATokenThatEndedIsAStrangerAgain(t *testing.T) {
	t.Parallel()
	var clock standing
	good := true
	d := open(t, gateway.Options{Now: clock.now, Swap: func(_ context.Context, secret, _ string) ([]byte, error) {
		if secret == "pod" && good {
			return []byte("{}"), nil
		}
		return nil, ask.Refuse(ask.CodeUnauthorized, "this token is of nobody")
	}})
	h := d.gateway.Handler()
	swap := func(secret string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/credentials", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	swap("pod")
	for range 300 {
		swap("bad")
	}
	if code := swap("pod"); code != http.StatusOK {
		t.Fatalf("an accepted token: status %d", code)
	}
	good = false
	if code := swap("pod"); code != http.StatusUnauthorized {
		t.Errorf("after its end: status %d", code)
	}
	if code := swap("pod"); code != http.StatusTooManyRequests {
		t.Errorf("again: status %d, want that of any stranger at this address", code)
	}
	good = true
	clock.pass(time.Minute)
	swap("pod")
	for range 300 {
		swap("bad")
	}
	clock.pass(3 * time.Hour) // it is forgotten, and so are the refusals
	for range 300 {
		swap("bad")
	}
	if code := swap("pod"); code != http.StatusTooManyRequests {
		t.Errorf("hours later: status %d, want that of any stranger at this address", code)
	}
}

// A program that says so is refused in Chinese: words of the transport and of
// the values in its body.
func TestRefusalsSpeakTheLanguageOfTheRequest(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	for name, c := range map[string]struct {
		secret, method, path, body, says string
		header                           []string
	}{
		"a method":        {agent, "PUT", "/v1/asks", "", `不允许方法 PUT`, nil},
		"no token":        {"", "GET", "/v1/asks", "", `缺少令牌`, nil},
		"an unknown one":  {"askb_abc_def", "GET", "/v1/asks", "", `此令牌未知或已被撤销`, nil},
		"an encoding":     {agent, "POST", "/v1/asks", database, `不支持内容编码 “gzip”`, []string{"Content-Encoding", "gzip"}},
		"a page":          {agent, "GET", "/v1/asks", "", `的页面不能调用此处`, []string{"Origin", "https://evil.example.com"}},
		"a path":          {agent, "GET", "/v1/nothing", "", `未知的路径`, nil},
		"a foreign scope": {agent, "GET", "/v1/asks?tenant=globex", "", `超出了它`, nil},
		"an event":        {agent, "POST", "/v1/events", `{"specversion":"1.0","source":"/x","type":"t","data":{}}`, `缺失；请给出标识该事件的文字`, nil},
		"a field":         {agent, "POST", "/v1/asks", `{"questions":[{"text":"?"}],"colour":1}`, `是未知的字段`, nil},
		"a wait":          {agent, "POST", "/v1/asks?wait=soon", `{"questions":[{"text":"?"}]}`, `?wait 是 “soon”`, nil},
		"half a text":     {agent, "POST", "/v1/asks", "{\"title\":\"\xff\"}", `不是 UTF-8`, nil},
	} {
		res := d.do(c.secret, c.method, c.path, c.body, append(c.header, "Accept-Language", "zh-CN,zh;q=0.9")...)
		if res.status < 400 || !strings.Contains(res.body, c.says) {
			t.Errorf("%s: %d %s", name, res.status, res.body)
		}
	}
}
