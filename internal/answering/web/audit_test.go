package web_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/testkit/openidtest"
	"github.com/askbus/askbus/pkg/ask"
)

// events collects the events that an inbox notes.
type events struct {
	mu  sync.Mutex
	all []web.Event
}

func (e *events) note(ev web.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// take returns the events since the last call.
func (e *events) take() []web.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

// one fails unless exactly one event was noted and equals want.
func (e *events) one(t *testing.T, name string, want web.Event) {
	t.Helper()
	all := e.take()
	if len(all) != 1 {
		t.Errorf("%s: noted %+v", name, all)
		return
	}
	got := all[0]
	if got.Address != "127.0.0.1" || (got.Why == "") != (want.Kind == web.EventSignedIn) {
		t.Errorf("%s: noted %+v", name, got)
	}
	if got.By.Principal != want.By.Principal || got.Kind != want.Kind || got.What != want.What || got.Code != want.Code || got.Known != want.Known || got.Tenant != want.Tenant || !strings.Contains(got.Why, want.Why) {
		t.Errorf("%s: noted %+v, want %+v", name, got, want)
	}
}

func refusedEvent(what, code, why string) web.Event {
	return web.Event{Kind: web.EventRefused, What: what, Code: code, Why: why}
}

func TestRefusalsAreNoted(t *testing.T) {
	t.Parallel()
	b := newBus()
	theirs := question("theirs", text("t", "And you?"))
	theirs.Audience = []string{"os:root"}
	b.ask(theirs, 0)
	var seen events
	in := serve(t, b, func(o *web.Options) { o.Note = seen.note })
	me := in.signedIn(t, mei)
	link := strings.TrimPrefix(in.link(t, mei), in.URL)
	in.stranger(t).get(link)
	in.stranger(t).get("/") // a signed-out visitor is not a refusal
	if got := seen.take(); len(got) != 0 {
		t.Errorf("noted %+v", got)
	}

	in.stranger(t).get(link)
	used := refusedEvent("sign-in by link", ask.CodeUnauthorized, "used already")
	used.By = mei
	seen.one(t, "a link that was used", used)

	old, err := web.LoginLink(cookieKey, "", mei, time.Now().Add(-11*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	in.stranger(t).get(old)
	seen.one(t, "an old link", refusedEvent("sign-in by link", ask.CodeUnauthorized, "expired"))

	me.do(http.MethodPost, "/logout", nil, "Sec-Fetch-Site", "cross-site")
	seen.one(t, "another page", refusedEvent("request of another page", ask.CodeForbidden, "another site"))

	me.post("/ask/default/s1/theirs/answer", url.Values{"text:t": {"yes"}, "answer_id": {"x"}})
	answer := refusedEvent("answer", ask.CodeForbidden, "may not decide")
	answer.By, answer.Known, answer.Tenant = mei, true, "default"
	seen.one(t, "an answer", answer)
}

func TestBulkActionsAreNoted(t *testing.T) {
	t.Parallel()
	b := newBus()
	for _, id := range []string{"a1", "a2", "a3"} {
		b.ask(question(id, text("t", "And you?")), 0)
	}
	var seen events
	in := serve(t, b, func(o *web.Options) { o.Note = seen.note })
	me := in.signedIn(t, mei)
	me.post("/bulk", url.Values{"key": {"default/s1/a1", "default/s1/a2", "default/s1/none"}, "reason": {"not now"}})
	seen.one(t, "declining", web.Event{Kind: web.EventDeclined, By: mei, Known: true, Why: "3 asks chosen, 2 declined, 0 had ended, 1 failed"})
	me.post("/bulk", url.Values{"key": {"default/s1/a3"}, "do": {"dismiss"}})
	seen.one(t, "dismissing", web.Event{Kind: web.EventDismissed, By: mei, Known: true, Why: "1 asks chosen, 1 dismissed"})
}

func TestFailedSignInsAtAProviderAreNoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie  func(map[string]any)
		code string
	}{
		"of no group":   {func(c map[string]any) { c["groups"] = []string{"sales"} }, ask.CodeForbidden},
		"another nonce": {func(c map[string]any) { c["nonce"] = "x" }, ask.CodeUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := openidtest.Start(t)
			at.Lies(c.lie)
			var seen events
			in := withProvider(t, newBus(), at, auth.GroupRules("groups", []string{"platform"}), func(o *web.Options) { o.Note = seen.note })
			in.stranger(t).get("/login/oidc")
			seen.one(t, name, refusedEvent("sign-in by oidc", c.code, ""))
		})
	}
}

func TestASignInByProxyIsNotedOncePerHour(t *testing.T) {
	t.Parallel()
	var seen events
	var mu sync.Mutex
	later := time.Duration(0)
	in := serve(t, newBus(), func(o *web.Options) {
		o.Note = seen.note
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(later)
		}
		o.Proxy = &web.Proxy{Header: "X-Forwarded-User", Groups: "X-Forwarded-Groups", Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Rules: auth.GroupRules("groups", []string{"platform"})}
	})
	come := func(who, groups string) {
		in.stranger(t).do(http.MethodGet, "/", nil, "X-Forwarded-User", who, "X-Forwarded-Groups", groups)
	}
	for range 3 {
		come("mei", "platform")
		come("ben", "platform")
	}
	var names []string
	for _, e := range seen.take() {
		if e.Kind != web.EventSignedIn || e.By.Proof != ask.ProofProxy || !e.Known {
			t.Errorf("noted %+v", e)
		}
		names = append(names, e.By.Principal)
	}
	if want := []string{"proxy:mei", "proxy:ben"}; !slices.Equal(names, want) {
		t.Errorf("noted %q", names)
	}
	mu.Lock()
	later = 61 * time.Minute
	mu.Unlock()
	come("mei", "platform")
	seen.one(t, "an hour later", web.Event{Kind: web.EventSignedIn, By: ask.By{Principal: "proxy:mei"}, Known: true})
	come("tom", "sales")
	no := refusedEvent("sign-in by proxy", ask.CodeForbidden, "")
	no.By.Principal = "proxy:tom"
	seen.one(t, "of no group", no)
}
