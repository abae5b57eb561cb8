package web_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// people is an in-memory fake of the sessions on the bus. The real ones are
// tested in internal/answering/auth, and together with the inbox in cmd/askbus.
type people struct {
	mu     sync.Mutex
	held   map[string]auth.SignIn
	ended  map[string]chan struct{}
	used   map[string]bool
	active int   // calls of Find with active
	fail   error // returned by every method, if set
}

func (p *people) Begin(_ context.Context, in auth.SignIn) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held, p.ended = map[string]auth.SignIn{}, map[string]chan struct{}{}
	}
	id := rand.Text()
	p.held[id], p.ended[id] = in, make(chan struct{})
	return id, p.fail
}

func (p *people) Find(_ context.Context, id string, active bool) (auth.Person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if active {
		p.active++
	}
	in, ok := p.held[id]
	if p.fail != nil {
		return auth.Person{}, p.fail
	}
	if !ok {
		return auth.Person{}, ask.Refuse(ask.CodeNotFound, "this session has ended")
	}
	return in.Person, nil
}

func (p *people) End(_ context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return p.fail
	}
	if _, ok := p.held[id]; ok {
		delete(p.held, id)
		close(p.ended[id])
	}
	return nil
}

func (p *people) Watch(id string) (<-chan struct{}, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended[id], func() {}
}

func (p *people) UseOnce(_ context.Context, id string, _ time.Time) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return false, p.fail
	}
	if p.used == nil {
		p.used = map[string]bool{}
	}
	first := !p.used[id]
	p.used[id] = true
	return first, nil
}

// usedUp returns how many links and flows were used up.
func (p *people) usedUp() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.used)
}

func (p *people) EndOf(_ context.Context, out auth.Logout) (n int, err error) {
	subject, session := out.Subject, out.Session
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, in := range p.held {
		if in.Subject == "" || subject != "" && in.Subject != subject || session != "" && in.Session != session {
			continue
		}
		delete(p.held, id)
		close(p.ended[id])
		n++
	}
	return n, p.fail
}

func (p *people) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// endAll signs everybody out, as an operator does.
func (p *people) endAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.held {
		delete(p.held, id)
		close(p.ended[id])
	}
}

func (p *people) set(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

func TestACookieHoldsOnlyASessionID(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b)
	u := in.signedIn(t, mei)
	cookie := u.client.Jar.Cookies(mustURL(t, in.URL))[0]
	id, mac, _ := strings.Cut(cookie.Value, ".")
	b.people.mu.Lock()
	_, known := b.people.held[id]
	b.people.mu.Unlock()
	if !known || len(cookie.Value) > 60 {
		t.Errorf("the cookie is %q", cookie.Value)
	}
	for name, forged := range map[string]string{
		"another id": string(cookie.Value[0]^1) + cookie.Value[1:], "no proof": id, "half a proof": cookie.Value[:len(cookie.Value)-1], "another proof": id + "." + strings.Repeat("A", len(mac)),
		"a longer one": cookie.Value + "A", "empty": "", "a dot": ".",
	} {
		if res := in.stranger(t).do(http.MethodGet, "/", nil, "Cookie", cookie.Name+"="+forged); res.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, res.status)
		}
	}
}

func TestSigningOutEndsTheSessionEverywhere(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(question("here", text("t", "Here?")), 0)
	one, two := serve(t, b), serve(t, b)
	u := one.signedIn(t, mei)
	cookie := u.client.Jar.Cookies(mustURL(t, one.URL))[0]
	stream, err := http.NewRequestWithContext(t.Context(), http.MethodGet, two.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Header.Set("Cookie", cookie.Name+"="+cookie.Value)
	res, err := http.DefaultClient.Do(stream)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	if err := b.Look(board.Viewer{By: mei}, k, false); err != nil {
		t.Fatal(err)
	}
	u.post("/logout", nil)
	buf := make([]byte, 1024)
	for err == nil { // until the stream ends
		_, err = res.Body.Read(buf)
	}
	if there := b.Attending(k); len(there) != 0 {
		t.Errorf("others still see %v", there)
	}
	if again := two.stranger(t).do(http.MethodGet, "/", nil, "Cookie", cookie.Name+"="+cookie.Value); again.status != http.StatusUnauthorized {
		t.Errorf("a copy of the cookie after signing out: %d", again.status)
	}
}

func TestPagesWhileSessionsCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("secret", text("t", "A secret?")), 0)
	in := serve(t, b)
	u, link := in.signedIn(t, mei), strings.TrimPrefix(in.link(t, mei), in.URL)
	b.people.set(errors.New("the broker is away"))
	for _, path := range []string{"/", "/events", "/ask/default/s1/secret", link} {
		if res := u.get(path); res.status != http.StatusServiceUnavailable || contains(res.body, "A secret?") {
			t.Errorf("%s: %d %s", path, res.status, res.body)
		}
	}
	if res := u.post("/logout", nil); res.status != http.StatusServiceUnavailable || !contains(res.body, "still signed in") {
		t.Errorf("signing out: %d %s", res.status, res.body)
	}
	b.people.set(nil)
	if res := in.stranger(t).get(link); res.status != http.StatusOK {
		t.Errorf("the link, when the broker is back: %d %s", res.status, res.body)
	}
	if _, err := web.New(b, b, web.Options{CookieKey: cookieKey}); err == nil {
		t.Error("an inbox without sessions")
	}
}

// A browser that leaves a page cancels its requests: then nobody has to act, and the log names no dead bus.
func TestABrowserThatLeavesIsNoError(t *testing.T) {
	t.Parallel()
	b := newBus()
	var log bytes.Buffer
	in := serve(t, b, func(o *web.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	u := in.signedIn(t, mei)
	cookies := u.client.Jar.Cookies(mustURL(t, in.URL))
	b.people.set(ask.Refuse(ask.CodeUnavailable, "the broker did not answer"))
	for left, want := range map[bool]bool{true: false, false: true} {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, in.URL+"/", nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		if left {
			cancel()
		}
		log.Reset()
		in.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
		cancel()
		if logged := log.Len() > 0; logged != want {
			t.Errorf("the browser has left: %t; the log: %s", left, log.String())
		}
	}
}

func TestAnOpenPageIsNotActivity(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b)
	u := in.signedIn(t, mei)
	active := func() int {
		b.people.mu.Lock()
		defer b.people.mu.Unlock()
		return b.people.active
	}
	before := active()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.client.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	if n := active(); n != before {
		t.Errorf("a stream is %d activities", n-before)
	}
	u.get("/")
	if n := active(); n != before+1 {
		t.Errorf("a page is %d activities", n-before)
	}
}
