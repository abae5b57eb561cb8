package web_test

import (
	"context"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
)

var (
	cookieKey = []byte("0123456789abcdef0123456789abcdef")
	mei       = ask.By{Principal: "os:mei", Name: "Mei", Groups: []string{"platform"}, Proof: "local"}
	tom       = ask.By{Principal: "os:tom", Name: "Tom", Proof: "local"}
)

// inbox is a running server on a bus.
type inbox struct {
	*httptest.Server
	bus  *bus
	stop func() // ends Run and waits for it to return
}

func serve(t *testing.T, b *bus, change ...func(*web.Options)) inbox {
	t.Helper()
	return serveAsks(t, b, b, change...)
}

func serveAsks(t *testing.T, b *bus, asks web.Asks, change ...func(*web.Options)) inbox {
	t.Helper()
	return serveOn(t, b, asks, func(ln net.Listener) net.Listener { return ln }, change...)
}

// serveOn is serveAsks on another listener.
func serveOn(t *testing.T, b *bus, asks web.Asks, on func(net.Listener) net.Listener, change ...func(*web.Options)) inbox {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.Listener = on(srv.Listener)
	opts := web.Options{CookieKey: cookieKey, Sessions: &b.people, BaseURL: "http://" + srv.Listener.Addr().String()}
	for _, c := range change {
		c(&opts)
	}
	s, err := web.New(b, asks, opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = s.Handler()
	srv.Start()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() { stop(); srv.Close() })
	in := inbox{srv, b, stop}
	for {
		if in.synced(t) { // the page says when it is connected; each iteration is a full request
			return in
		}
	}
}

func (in inbox) synced(t *testing.T) bool {
	t.Helper()
	res := in.signedIn(t, mei).get("/")
	return !contains(res.body, "Connecting to the bus")
}

func (in inbox) link(t *testing.T, by ask.By) string {
	t.Helper()
	link, err := web.LoginLink(cookieKey, in.URL, by, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// question returns an ask with these questions.
func question(id string, questions ...ask.Question) ask.Ask {
	return ask.Ask{ID: id, Agent: ask.Agent{Name: "builder"}, Questions: questions}
}

func database() ask.Question {
	return ask.Question{ID: "db", Header: "Storage", Text: "Which database should the ledger use?", Options: []ask.Option{
		{ID: "pg", Label: "PostgreSQL", Description: "Mature, transactional, already operated by the platform team.", Recommended: true},
		{ID: "lite", Label: "SQLite + Litestream", Description: "One file, replicated to object storage."},
		{ID: "kv", Label: "JetStream KV", Description: "No new dependency; limited queries."},
	}}
}
