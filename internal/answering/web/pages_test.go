package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
)

func TestEveryStateIsDrawn(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(full(), 5*time.Minute+30*time.Second)
	b.shownOn(k, ask.Receipt{Type: "slack", State: ask.ReceiptPosted, Places: []ask.Place{{Where: "https://example.com/archives/1"}}})
	b.shownOn(k, ask.Receipt{Type: "mail", State: ask.ReceiptPosted, Places: []ask.Place{{Where: "javascript:alert(1)"}}})
	b.ask(question("rate", ask.Question{ID: "r", Kind: "rating", Text: "How good?"}), 0)
	u := serve(t, b).signedIn(t, mei)
	res := u.get("/")
	for _, want := range []string{
		"<title>(2) askbus</title>", "builder</strong> asks", "for <bdi>planner/a-1", "session <bdi>payments-api",
		"waiting <time", "5 min", "in 40 min", "Nothing is decided.", "For group platform to decide.",
		`href="https://example.com/archives/1"`, "What the agent is doing", "recommended", "Ends the whole ask",
	} {
		if !contains(res.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if contains(res.body, `href="javascript`) {
		t.Error("a receipt became a link that runs")
	}
	if res := u.get("/ask/default/s1/rate"); !contains(res.body, "does not know yet") || !contains(res.body, `<details class="own" open>`) {
		t.Errorf("unknown kind: %s", res.body)
	}
	for path, want := range map[string]string{"/ask/default/s1/nosuch": "There is no such ask", "/ask/a%20b/c/d": "There is no such ask", "/nowhere": "There is no such page"} {
		if res := u.get(path); res.status != http.StatusNotFound || !contains(res.body, "Back to the inbox") || !contains(res.body, want) {
			t.Errorf("%s: %d", path, res.status)
		}
	}
}

func TestTheListIsBounded(t *testing.T) {
	t.Parallel()
	b := newBus()
	for i := range 230 {
		b.ask(question(fmt.Sprintf("a%d", i), text("t", fmt.Sprintf("Question %d?", i))), time.Duration(300-i)*time.Second)
	}
	u := serve(t, b).signedIn(t, mei)
	res := u.get("/")
	if n := strings.Count(res.body, `<li id="wait-`); n != 200 || !contains(res.body, "1–200 of 230") || contains(res.body, ">Previous<") || !contains(res.body, "(230) askbus") {
		t.Errorf("%d are listed", n)
	}
	if !contains(res.body, `data-key="default/s1/a0" data-path`) {
		t.Error("the oldest is not in focus")
	}
	for _, from := range []string{"200", "399", "100000", "200&from=x"} {
		res = u.get("/?from=" + from)
		if n := strings.Count(res.body, `<li id="wait-`); n != 30 || !contains(res.body, "201–230 of 230") || !contains(res.body, `href="/" data-visit rel="prev"`) || !contains(res.body, `href="/ask/default/s1/a229?from=200"`) {
			t.Errorf("%s: the second part lists %d", from, n)
		}
	}
	for _, from := range []string{"-1", "x", "99999999999999999999", "199"} {
		if res = u.get("/?from=" + from); !contains(res.body, "1–200 of 230") {
			t.Errorf("%s is not the first part", from)
		}
	}
}

// TestNoCharacterHidesOrTurnsText checks that characters which hide or reorder
// text are removed, as on every surface.
func TestNoCharacterHidesOrTurnsText(t *testing.T) {
	t.Parallel()
	evil := "pay\u202e lap\u2066\u200b\u009b2J\U000E0041"
	a := question("evil", ask.Question{ID: "q", Header: evil, Text: evil, Options: []ask.Option{
		{ID: "y", Label: evil, Description: evil, Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: evil}},
		{ID: "x", Label: "x", Preview: &ask.Preview{Format: ask.PreviewText, Body: evil}},
	}}, text("more", evil))
	a.Title, a.Context, a.Agent = evil, evil, ask.Agent{Name: evil}
	b := newBus()
	b.ask(a, time.Minute)
	u := serve(t, b).signedIn(t, mei)
	for _, path := range []string{"/", "/ask/default/s1/evil"} {
		if res := u.get(path); !contains(res.body, "pay lap") || strings.ContainsAny(res.body, "\u202e\u2066\u200b\u009b\U000E0041") {
			t.Errorf("%s: %+q", path, res.body)
		}
	}
}

func TestAgentTextIsOnlyText(t *testing.T) {
	t.Parallel()
	evil := `"><script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)>`
	a := question("evil", ask.Question{ID: evil[:20], Header: evil[:12], Text: evil, Placeholder: evil, Options: []ask.Option{
		{ID: `"><b>`, Label: evil, Description: evil, Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: evil}},
		{ID: "x", Label: "x", Preview: &ask.Preview{Format: ask.PreviewText, Body: evil}},
	}})
	a.Title, a.Context, a.Agent = evil, evil, ask.Agent{Name: evil, Parent: evil}
	a.Audience = []string{evil, "os:mei"}
	b := newBus()
	b.ask(a, 0)
	res := serve(t, b).signedIn(t, mei).get("/")
	if contains(res.body, "<script>alert") || contains(res.body, "<img") || contains(res.body, `"><b>`) {
		t.Errorf("agent text became markup: %s", res.body)
	}
}

func TestAssetsAreKeptByHash(t *testing.T) {
	t.Parallel()
	u := serve(t, newBus()).stranger(t)
	page := u.get("/").body
	at := strings.Index(page, "/static/")
	path := page[at : at+strings.Index(page[at:], `"`)]
	if res := u.get(path); res.status != 200 || !contains(res.header.Get("Cache-Control"), "immutable") {
		t.Errorf("%s: %d %s", path, res.status, res.header.Get("Cache-Control"))
	}
	if res := u.get("/static/old/app.js"); res.status != 200 || contains(res.header.Get("Cache-Control"), "immutable") {
		t.Errorf("another version is kept: %d", res.status)
	}
	if res := u.get("/static/old/nosuch.js"); res.status != http.StatusNotFound {
		t.Errorf("got %d", res.status)
	}
}

// stream opens an event stream and returns its lines.
func (u user) stream(t *testing.T) (lines *bufio.Scanner, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.in.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		cancel()
		t.Fatalf("the stream: %d", res.StatusCode)
	}
	return bufio.NewScanner(res.Body), func() { cancel(); res.Body.Close() }
}

func until(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	for lines.Scan() {
		if lines.Text() == want {
			return
		}
	}
	t.Fatalf("the stream ended before %q: %v", want, lines.Err())
}

func TestStream(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b, func(o *web.Options) { o.MaxStreams, o.Heartbeat = 2, time.Millisecond })
	u := in.signedIn(t, mei)
	lines, stop := u.stream(t)
	until(t, lines, "event: hello")
	if n := <-b.present; n != 1 {
		t.Errorf("presence %d, want 1", n)
	}
	until(t, lines, "event: beat")
	k := b.ask(question("a", database()), 0)
	until(t, lines, "event: rows")
	receipt := <-b.receipts
	if receipt.State != ask.ReceiptPosted || receipt.Life != "l1" || receipt.Key != "web" || receipt.Words() != in.URL+"/ask/"+k.String() {
		t.Errorf("receipt: %+v", receipt)
	}
	second, stopSecond := u.stream(t)
	until(t, second, "event: hello")
	if res := u.get("/events"); res.status != http.StatusServiceUnavailable {
		t.Errorf("a third stream: %d", res.status)
	}
	stopSecond()
	stop()
	if n := <-b.present; n != -1 {
		t.Errorf("presence %d, want -1", n)
	}
	if n := len(b.receipts); n != 0 {
		t.Errorf("%d more receipts for one ask", n)
	}
}

func TestRunEndsTheStreams(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b)
	lines, stop := in.signedIn(t, mei).stream(t)
	defer stop()
	until(t, lines, "event: hello")
	in.stop()
	for lines.Scan() { // ends when the server ends the stream
	}
}

func TestOffline(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b)
	u := in.signedIn(t, mei)
	lines, stop := u.stream(t)
	defer stop()
	until(t, lines, "event: hello")
	b.offline(true)
	until(t, lines, "event: rows")
	if res := u.get("/"); !contains(res.body, "The connection to the bus is gone") {
		t.Error("the page does not say that the bus is disconnected")
	}
	b.offline(false)
	until(t, lines, "event: rows")
	if res := u.get("/"); contains(res.body, "The connection to the bus is gone") {
		t.Error("the page does not show that the bus is connected again")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]web.Options{
		"a short key": {CookieKey: []byte("short")},
		"a bad URL":   {CookieKey: cookieKey, BaseURL: "127.0.0.1:8420"},
	} {
		if _, err := web.New(newBus(), newBus(), opts); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := web.New(nil, newBus(), web.Options{CookieKey: cookieKey, Sessions: &people{}}); err == nil {
		t.Error("no asks were accepted")
	}
}
