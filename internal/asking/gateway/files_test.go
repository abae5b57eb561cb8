package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
)

func screenshot(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 640, 400))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFilesOverHTTP(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, other, screen := d.agent("s1"), d.agent("s2"), d.responder()
	shot := screenshot(t)
	id := ask.FileID([]byte(shot))
	ref := d.do(agent, "POST", "/v1/files?name=%2Fhome%2Fmei%2Fshot.png", shot, "Content-Type", "image/png").
		want(t, 201, `"id":"`+id+`"`, `"name":"shot.png"`, `"media_type":"image/png"`).body
	with := strings.Replace(database, `{`, `{"files":[`+ref+`],`, 1)
	d.do(agent, "POST", "/v1/asks", with).want(t, 201)
	d.do(other, "POST", "/v1/asks", with).want(t, 400, `"pointer":"/files/0/id"`, `"no_file"`)

	for _, secret := range []string{agent, screen} {
		r := d.do(secret, "GET", "/v1/files/"+id+"?session=s1", "").want(t, 200)
		if r.body != shot {
			t.Error("other bytes")
		}
		for name, want := range map[string]string{
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Disposition": "inline; filename=shot.png",
		} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if csp := r.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "sandbox; default-src 'none'") {
			t.Errorf("CSP %q", csp)
		}
	}
	d.do(other, "GET", "/v1/files/"+id, "").want(t, 404)
	d.do(other, "GET", "/v1/files/"+id+"?session=s1", "").want(t, 403)
	d.do("", "GET", "/v1/files/"+id, "").want(t, 401)
	d.do(agent, "GET", "/v1/files/..%2F..%2Fetc%2Fpasswd", "").want(t, 400, "bad_file_id")
	d.do(agent, "GET", "/v1/files/*", "").want(t, 400, "bad_file_id")

	d.do(agent, "POST", "/v1/files", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "Content-Type", "image/svg+xml").want(t, 400, "other_media_type")
	d.do(agent, "POST", "/v1/files", "\x7fELF\x00", "Content-Type", "application/octet-stream").want(t, 400, "bad_file")
	d.do(agent, "POST", "/v1/files", strings.Repeat("a", ask.MaxFileBytes+1), "Content-Type", "text/plain").want(t, 413)
	d.do(agent, "POST", "/v1/files?session=s2", shot, "Content-Type", "image/png").want(t, 403)

	// HTML is text, and is nothing but text.
	html := "<html><script>alert(1)</script></html>"
	d.do(agent, "POST", "/v1/files?name=%22%3Cb%3E%E2%80%AEx.html", html, "Content-Type", "text/plain").want(t, 201, `"media_type":"text/plain"`)
	for _, said := range []string{"text/csv; charset=utf-8", "text/markdown", "application/json", "application/octet-stream"} { // as clients name text, by the file's name
		d.do(agent, "POST", "/v1/files?name=a.txt", "a,b", "Content-Type", said).want(t, 201, `"media_type":"text/plain"`)
	}
	d.do(agent, "POST", "/v1/files", "a,b", "Content-Type", "image/png").want(t, 400, "other_media_type")
	r := d.do(agent, "GET", "/v1/files/"+ask.FileID([]byte(html)), "").want(t, 200)
	if got := r.header.Get("Content-Type") + "; " + r.header.Get("Content-Disposition"); got != `text/plain; charset=utf-8; attachment; filename="\"<b>x.html"` {
		t.Errorf("headers %s", got)
	}

	// A polyglot is an image, whatever follows it.
	d.do(agent, "POST", "/v1/files", shot+html, "Content-Type", "text/html").want(t, 400, "other_media_type")
	d.do(agent, "POST", "/v1/files", shot+html, "Content-Type", "image/png").want(t, 201, `"media_type":"image/png"`)

	revokedID, revoked := d.issued(token.Token{Role: token.Agent, Sessions: []string{"s1"}})
	d.do(revoked, "GET", "/v1/files/"+id, "").want(t, 200)
	d.revoke(revokedID)
	natstest.Eventually(t, "the gateway knows that the token is revoked", func() bool { return d.do(revoked, "GET", "/v1/files/"+id, "").status == 401 })
	d.do(revoked, "POST", "/v1/files", shot, "Content-Type", "image/png").want(t, 401, "revoked")
	_, abroad, err := d.tokens.Issue(t.Context(), token.Token{Role: token.Agent, Tenant: "elsewhere", Sessions: []string{"s1"}})
	if err != nil {
		t.Fatal(err)
	}
	d.do(abroad, "GET", "/v1/files/"+id+"?session=s1", "").want(t, 404)
	d.do(abroad, "GET", "/v1/files/"+id+"?session=s1&tenant=acme", "").want(t, 403)

	answer := `{"answers":[{"question_id":"db","selected":["pg"],"files":[` + ref + `]}]}`
	d.do(screen, "POST", "/v1/asks/s1/deploy-42/answer", answer).want(t, 200, `"status":"answered"`, id)
	d.do(agent, "GET", "/v1/asks/s1/deploy-42?wait=1s", "").want(t, 200, `"files":[{"id":"`+id)
	d.do(agent, "GET", "/v1/asks/s1/deploy-42?dialect=claude-code", "").want(t, 200, "Attached: shot.png (image/png, ", "/v1/files/"+id+"?session=s1")
}

// A2A carries files both ways, and other dialects with a place for them into the ask; all of them name those that they cannot carry.
func TestFilesInDialects(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	shot := screenshot(t)
	id, encoded := ask.FileID([]byte(shot)), base64.StdEncoding.EncodeToString([]byte(shot))
	a2a := func(secret, method, params string) reply {
		t.Helper()
		return d.do(secret, "POST", "/a2a?wait=0", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
	}
	big := strings.Repeat("many words ", 2<<20/11)
	part := func(name, content string) string {
		return `{"raw":"` + base64.StdEncoding.EncodeToString([]byte(content)) + `","filename":"` + name + `"}`
	}
	shown := `{"url":"` + d.url + `/v1/files/` + id + `?session=s1&tenant=acme","filename":"shot.png","mediaType":"image/png"}`
	for range 2 { // the same message again is the same task
		a2a(agent, "SendMessage", `{"message":{"messageId":"m1","parts":[{"text":"Ship it?"},`+part("shot.png", shot)+`,`+part("big.txt", big)+`]}}`).want(t, 200, "TASK_STATE_INPUT_REQUIRED", shown, `"name":"big.txt"`)
	}
	a2a(screen, "GetTask", `{"id":"s1/m1"}`).want(t, 200, shown)
	if r := d.do(screen, "GET", "/v1/files/"+id+"?session=s1", "").want(t, 200); r.body != shot {
		t.Error("the screen reads other bytes")
	}
	a2a(screen, "SendMessage", `{"message":{"messageId":"m2","taskId":"s1/m1","parts":[{"text":"yes"},{"raw":"R0lGODlhAA==","filename":"x.gif"}]}}`).want(t, 200, `"code":-32602`, "/message/parts/1")
	answered := a2a(screen, "SendMessage", `{"message":{"messageId":"m3","taskId":"s1/m1","parts":[{"text":"yes"},`+part("mine.png", shot)+`,`+part("log.txt", big)+`]}}`).want(t, 200, "TASK_STATE_COMPLETED")
	for _, r := range []reply{answered, a2a(agent, "GetTask", `{"id":"s1/m1"}`)} {
		r.want(t, 200, `{"raw":"`+encoded+`","filename":"mine.png","mediaType":"image/png"}`, `{"url":"`+d.url+`/v1/files/`+ask.FileID([]byte(big))+`?session=s1&tenant=acme","filename":"log.txt"`)
	}
	a2a(agent, "tasks/get", `{"id":"s1/m1"}`).want(t, 200, `"bytes":"`+encoded+`"`, `"kind":"file"`)

	permission := `{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Publish","content":[{"type":"content","content":{"type":"image","mimeType":"image/png","data":"` + encoded + `"}}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`
	d.do(agent, "POST", "/v1/asks?dialect=acp-permission&wait=0", permission).want(t, 202)
	d.do(screen, "GET", "/v1/asks?session=s1", "").want(t, 200, `"files":[{"id":"`+id)

	// What is larger than files can be is refused, and so is a large body elsewhere.
	d.do(agent, "POST", "/v1/asks?dialect=codex", `{"questions":[{"id":"q","question":"`+big+`"}]}`).want(t, 413)
	a2a(agent, "SendMessage", `{"message":{"messageId":"m9","parts":[{"text":"`+strings.Repeat("x", 13<<20)+`"}]}}`).want(t, 413)
}

// Bodies with files that do not end keep no other token from sending some.
func TestLargeBodiesAreShared(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{BodyTimeout: waittest.Limit})
	greedy, other := d.agent("s1"), d.agent("s2")
	ctx, stop := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	defer slow.Wait()
	defer stop()
	refused := make(chan string, 4)
	for range 4 {
		body, more := io.Pipe()
		defer more.Close()
		slow.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+"/a2a", body)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+greedy)
			req.Header.Set("Content-Type", "application/json")
			if res, err := http.DefaultClient.Do(req); err == nil {
				said, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				refused <- res.Status + string(said)
			}
		})
		slow.Go(func() { _, _ = more.Write(bytes.Repeat([]byte(" "), 2<<20)) })
	}
	if said := <-refused; !strings.HasPrefix(said, "429") || !strings.Contains(said, "3 files of this token") {
		t.Errorf("the token's fourth: %s", said)
	}
	large := func(secret, id string) (reply, error) {
		return d.try(secret, "POST", "/a2a?wait=0", `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"`+id+`","parts":[{"text":"Ship it?"},{"raw":"cGxhbg==","filename":"plan.txt"}]}}}`+strings.Repeat(" ", 2<<20))
	}
	if r, err := large(other, "m2"); err != nil || r.status != http.StatusOK {
		t.Errorf("another token: %v, %d %s", err, r.status, r.body)
	}
	stop()
	natstest.Eventually(t, "its places are free again", func() bool {
		r, err := large(greedy, "m1")
		return err == nil && r.status == http.StatusOK
	})
}

// Files that do not end keep no other token from sending and reading some.
func TestFilesAreShared(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{BodyTimeout: waittest.Limit})
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		served <- httpserver.New(ln, d.gateway.Handler(), httpserver.Limits{BodyTimeout: waittest.Limit}).Run(ctx, waittest.Limit)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	greedy := d.agent("s1")
	said := map[string]int{}
	for range 16 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", greedy)
		status, err := bufio.NewReader(conn).ReadString('\n') // "100 Continue" comes once its body is read
		if err != nil {
			t.Fatal(err)
		}
		said[status]++
	}
	if said["HTTP/1.1 100 Continue\r\n"] != 8 || said["HTTP/1.1 429 Too Many Requests\r\n"] != 8 {
		t.Errorf("16 files of one token at a time: %v", said)
	}
	d.do(d.agent("s2"), "POST", "/v1/files", "plan").want(t, 201)
}
