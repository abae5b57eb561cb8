package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/coder/websocket"
)

// posts returns the paths with a body, and a token that may use each.
func posts(d *fixture) map[string]string {
	agent, screen := d.agent("*"), d.responder()
	return map[string]string{
		"/v1/asks": agent, "/v1/asks?dialect=event-pair": agent, "/v1/asks?dialect=by-id": agent, "/v1/asks?dialect=elicitation": agent, "/v1/events": agent,
		"/v1/permission": agent, "/api/interact/ask": agent, "/v1/asks/s/a/answer": screen, "/v1/asks/s/a/answer?dialect=by-id": screen, "/v1/asks/s/a/decline": screen,
	}
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	d, slow := open(t, gateway.Options{}), open(t, gateway.Options{BodyTimeout: 50 * time.Millisecond})
	d.do(d.agent("*"), "POST", "/v1/asks?session=s", `{"id":"a","questions":[{"id":"q","text":"Why?"}]}`).want(t, 201)
	deep := strings.Repeat(`{"questions":[`, 5000)
	for path, secret := range posts(d) {
		for name, body := range map[string]string{
			"no JSON": "{", "an array": "[]", "a string": `"x"`, "null": "null", "wrong types": `{"questions":7,"sessionId":[],"answers":"x","reason":{},"specversion":1.0,"requestedSchema":3,"agentId":{}}`,
			"a question of a wrong type": `{"specversion":"1.0","id":"e","source":"x","type":"dev.askbus.ask.requested.v1","data":{"questions":[7]},"questions":[7],"sessionId":"s","question":9,"answers":[7],"reason":7,"requestedSchema":{"type":"object","properties":7}}`,
			"nested too deep":            deep, "not UTF-8": "{\"questions\":\"\xff\xfe\"}", "300 KiB": `{"id":"` + strings.Repeat("x", 300<<10) + `"}`, "2 MiB": `{"id":"` + strings.Repeat("x", 2<<20) + `"}`,
		} {
			res := d.do(secret, "POST", path, body, "Content-Type", "application/cloudevents+json")
			if res.status < 400 || res.status >= 500 || res.header.Get("Content-Type") != "application/problem+json" || len(res.body) > 64<<10 {
				t.Errorf("%s, %s: %d %s: %.300s", path, name, res.status, res.header.Get("Content-Type"), res.body)
			}
			if name == "2 MiB" && res.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %s: %d", path, name, res.status)
			}
		}
	}
	for path, secret := range posts(slow) {
		if status := slow.slowly(secret, path); status != http.StatusRequestTimeout {
			t.Errorf("%s, a body that does not end: %d", path, status)
		}
	}
	agent := d.agent("*")
	for _, path := range []string{"/v1/asks?wait=soon", "/v1/asks?wait=-1s"} {
		d.do(agent, "POST", path, database).want(t, 400, "wait")
	}
	for _, path := range []string{"/v1/asks?limit=0", "/v1/asks?limit=x", "/v1/asks?state=odd", "/v1/asks?cursor=nonsense", "/v1/history?question=q&limit=501"} {
		d.do(agent, "GET", path, "").want(t, 400)
	}
	d.do(agent, "POST", "/v1/asks", database, "Content-Encoding", "gzip").want(t, 415)
}

// slowly sends only the beginning of a body.
func (d *fixture) slowly(secret, path string) int {
	d.t.Helper()
	u, err := url.Parse(d.url)
	if err != nil {
		d.t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(d.t.Context(), "tcp", u.Host)
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/cloudevents+json\r\nContent-Length: 1000\r\n\r\n{", path, secret)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

func TestMoreRequestsThanAllowed(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{MaxRequests: 1})
	agent, screen := d.agent("s1"), d.screen("s1")
	w := d.dial(screen, "") // is one
	d.do(agent, "GET", "/v1/asks", "").want(t, 503, "in progress")
	w.quiet()
}

func TestOneTokenAndOneTenantLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{MaxRequests: 8})
	a, b, other := d.screen("s1"), d.screen("s1"), d.token(token.Token{Role: token.Screen, Tenant: "other", Sessions: []string{"s1"}})
	var held []*websocket.Conn
	hold := func(secret string, n int) {
		for range n {
			conn, _, err := d.connect(secret, "")
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, conn)
		}
	}
	refused := func(secret, says string) {
		t.Helper()
		d.do(secret, "GET", "/v1/asks", "").want(t, 429, says)
		if _, res, err := d.connect(secret, ""); err == nil || res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a socket: %v, %v", err, res)
		}
	}
	hold(a, 4)
	refused(a, "of this token")
	hold(b, 2)
	refused(b, "of tenant acme")
	d.do(other, "GET", "/v1/asks", "").want(t, 200)
	for _, conn := range held {
		_ = conn.CloseNow()
	}
	natstest.Eventually(t, "the places are free again", func() bool { return d.do(a, "GET", "/v1/asks", "").status == http.StatusOK })
	d.http = &http.Client{}           // the contract is checked elsewhere, and costs most of the time
	for range 2000 / waittest.Fewer { // and nothing is left of what passes
		if res := d.do(a, "GET", "/v1/asks?limit=1", ""); res.status != http.StatusOK {
			t.Fatalf("%d: %s", res.status, res.body)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Memory stays bounded with many questions and many idle sockets. The figure includes the test's
// server, broker and clients.
func TestManyQuestionsAndIdleSockets(t *testing.T) {
	d := open(t, gateway.Options{})
	agent, screen, all := d.agent("*"), d.screen("*"), d.responder()
	before := heap()
	const sockets, questions = 1000 / waittest.Fewer, 10_000 / waittest.Fewer
	idle := make([]*websocket.Conn, sockets)
	var work sync.WaitGroup
	var failed atomic.Int64
	for part := range 8 {
		work.Go(func() {
			for i := part; i < sockets; i += 8 {
				conn, _, err := d.connect(screen, fmt.Sprintf("?sessionId=idle-%d", i))
				if err != nil {
					failed.Add(1)
					continue
				}
				idle[i] = conn
			}
		})
	}
	work.Wait()
	if failed.Load() > 0 {
		t.Fatalf("%d of %d sockets could not connect", failed.Load(), sockets)
	}
	withSockets := heap()
	plain := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}} // the contract is checked elsewhere
	d.http = plain
	for part := range 16 {
		work.Go(func() {
			for i := part; i < questions; i += 16 {
				res, err := d.try(agent, "POST", fmt.Sprintf("/v1/asks?session=many-%d", i%100), fmt.Sprintf(`{"id":"q-%d","questions":[{"text":"Question %d?","options":[{"label":"A"},{"label":"B"}]}]}`, i, i))
				if err != nil || res.status != http.StatusCreated {
					failed.Add(1)
				}
			}
		})
	}
	work.Wait()
	if failed.Load() > 0 {
		t.Fatalf("%d of %d asks failed", failed.Load(), questions)
	}
	after := heap()
	w := d.dial(all, "") // sees as many as one socket may show
	for range min(1000, questions) {
		w.next("interaction_request")
	}
	seen, next := 0, ""
	for {
		page := d.do(all, "GET", "/v1/asks?state=pending&limit=500&cursor="+url.QueryEscape(next), "").want(t, 200).as(t)
		seen += len(page["items"].([]any))
		if next, _ = page["next"].(string); next == "" {
			break
		}
	}
	if seen != questions {
		t.Errorf("the list has %d asks", seen)
	}
	t.Logf("heap: %d KiB at first, %d KiB with %d idle sockets, %d KiB with %d pending asks", before>>10, withSockets>>10, sockets, after>>10, questions)
	if after > before+400<<20 {
		t.Errorf("the heap grew by %d MiB", (after-before)>>20)
	}
	for _, conn := range idle {
		_ = conn.CloseNow()
	}
	w.quiet()
}
