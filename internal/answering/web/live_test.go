package web_test

import (
	"context"
	"html"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// live is the inbox on a real bus, for the tests that every live screen must
// pass.
type live struct {
	t      *testing.T
	people people
	srv    *httptest.Server
	ready  chan struct{}

	mu    sync.Mutex
	users map[string]user
}

func TestTheInboxIsALiveScreen(t *testing.T) {
	t.Parallel()
	respondertest.RunLive(t, func(t *testing.T) respondertest.Screen {
		t.Helper()
		return &live{t: t, srv: httptest.NewUnstartedServer(nil), ready: make(chan struct{}), users: map[string]user{}}
	})
}

func (l *live) Type() string { return "web" }

func (l *live) Run(ctx context.Context, r *responder.Responder) error {
	s, err := web.New(board.New(r, board.Options{}), r, web.Options{
		CookieKey: cookieKey, Sessions: &l.people, BaseURL: "http://" + l.srv.Listener.Addr().String(),
	})
	if err != nil {
		return err
	}
	l.srv.Config.Handler = s.Handler()
	l.srv.Start()
	l.t.Cleanup(l.srv.Close)
	close(l.ready)
	return s.Run(ctx)
}

// as returns a person's browser.
func (l *live) as(by ask.By) user {
	<-l.ready
	l.mu.Lock()
	defer l.mu.Unlock()
	u, known := l.users[by.Principal]
	if !known {
		u = inbox{Server: l.srv}.signedIn(l.t, by)
		l.users[by.Principal] = u
	}
	return u
}

var listed = regexp.MustCompile(`<li id="wait-[^"]*" data-key="([^"]*)"`)

func (l *live) Waiting(by ask.By) (keys []ask.Key) {
	for _, m := range listed.FindAllStringSubmatch(l.as(by).get("/").body, -1) {
		part := strings.Split(m[1], "/")
		keys = append(keys, ask.Key{Tenant: part[0], Session: part[1], ID: part[2]})
	}
	return keys
}

var (
	article = regexp.MustCompile(`(?s)<article.*</article>`)
	tag     = regexp.MustCompile(`<[^>]*>`)
)

func words(page string) string { return html.UnescapeString(tag.ReplaceAllString(page, "")) }

func (l *live) Read(by ask.By, k ask.Key) respondertest.Reading {
	page := l.as(by).get("/ask/" + k.String())
	card := article.FindString(page.body)
	return respondertest.Reading{
		Key: k, Text: words(card), Ref: page,
		Open: contains(card, `class="send"`) && !contains(card, "data-closed"),
	}
}

func (l *live) Choose(by ask.By, from respondertest.Reading, option string) string {
	page, _ := from.Ref.(response)
	return words(l.as(by).post("/ask/"+from.Key.String()+"/answer", page.form("select:db", "="+option)).body)
}
