package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

var mei = ask.By{Principal: "oidc:mei", Name: "Mei", Groups: []string{"platform"}, Proof: "oidc"}

func signIn(client string) auth.SignIn {
	return auth.SignIn{Person: auth.Person{By: mei}, Client: client}
}

func replica(t *testing.T, b *natstest.Bus, role rights.Role, opts auth.Options) *auth.Sessions {
	t.Helper()
	opts.Logger, opts.Tenant = natstest.Logger(), role.Tenant
	s, err := auth.NewSessions(b.Connect(role), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func running(t *testing.T, b *natstest.Bus, opts auth.Options) *auth.Sessions {
	t.Helper()
	s := replica(t, b, rights.Role{Name: rights.RoleResponder, Type: "web"}, opts)
	run(t, s.Run)
	return s
}

func run(t *testing.T, part func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestASessionHoldsAtEveryReplica(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	told := auth.Options{Cache: state.CacheOptions{Poll: time.Hour, FailAfter: 2 * time.Hour}} // no polling: changes are seen live
	one, two := running(t, b, told), running(t, b, told)
	id, err := one.Begin(t.Context(), signIn("a browser"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*auth.Sessions{one, two} {
		if by, err := s.Find(t.Context(), id, true); err != nil || by.By.Principal != mei.Principal || by.By.Groups[0] != "platform" || by.Access != nil {
			t.Errorf("%+v, %v", by, err)
		}
	}
	operator := auth.NewPeople(b.Connect(rights.Role{Name: rights.RoleOperator}))
	list, err := operator.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Principal != mei.Principal || list[0].Client != "a browser" || list[0].ID == id {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := one.Find(t.Context(), list[0].ID, true); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("what a list shows opens a session: %v", err)
	}
	ended, stop := two.Watch(id)
	defer stop()
	if gone, err := operator.End(t.Context(), mei.Principal); err != nil || len(gone) != 1 {
		t.Fatalf("%+v, %v", gone, err)
	}
	votesEnd(t, b, mei.Principal)
	select {
	case <-ended:
	case <-time.After(waittest.Limit):
		t.Fatal("another replica does not hear of it")
	}
	for _, s := range []*auth.Sessions{one, two} {
		natstest.Eventually(t, "the session has ended", func() bool {
			_, err := s.Find(t.Context(), id, true)
			return errors.Is(err, ask.ErrNotFound)
		})
	}
	if _, err := operator.End(t.Context(), "nobody"); err == nil {
		t.Error("nobody is signed out")
	}
}

// Shared state has room for a limited number of sessions, and one person's
// sign-ins do not use it up: the session that was idle longest ends.
func TestOnePersonsSignInsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	s := running(t, b, auth.Options{})
	begin := func(by ask.By) string {
		id, err := s.Begin(t.Context(), auth.SignIn{Person: auth.Person{By: by}})
		if err == nil {
			_, err = s.Find(t.Context(), id, true) // this replica knows it now
		}
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	tom := begin(ask.By{Principal: "oidc:tom", Proof: "oidc"})
	var of []string
	for range 60 {
		of = append(of, begin(mei))
	}
	for i, id := range append(of, tom) {
		_, err := s.Find(t.Context(), id, true)
		if ended := i < 10; ended != errors.Is(err, ask.ErrNotFound) {
			t.Errorf("session %d: %v, ended should be %v", i, err, ended)
		}
	}
}

func TestASessionExpiresWhenIdleAndIsRenewedByActivity(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	b.BrokerAhead(func() time.Duration { return time.Duration(ahead.Load()) }, broker.Options{})
	cache := state.CacheOptions{FailAfter: 1000 * time.Hour}
	one := running(t, b, auth.Options{Idle: time.Hour, Life: 3 * time.Hour, Now: now, Cache: cache})
	watched, err := one.Begin(t.Context(), signIn(""))
	if err != nil {
		t.Fatal(err)
	}
	used, err := one.Begin(t.Context(), signIn(""))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ahead.Add(int64(50 * time.Minute))
		before := time.Now()
		people := auth.NewPeople(b.Connect(rights.Role{Name: rights.RoleOperator}))
		natstest.Eventually(t, "it is renewed", func() bool {
			if _, err := one.Find(t.Context(), used, true); err != nil { // a renewal that fails is tried again with the next request
				t.Fatalf("a session that is used: %v", err)
			}
			list, err := people.List(t.Context())
			return err == nil && len(list) > 0 && list[0].Seen.After(before.Add(time.Duration(ahead.Load())-time.Minute))
		})
		_, _ = one.Find(t.Context(), watched, false) // an open page without activity
	}
	if _, err := one.Find(t.Context(), watched, true); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a session in which nothing is done: %v", err)
	}
	ahead.Store(int64(3 * time.Hour))
	if _, err := one.Find(t.Context(), used, true); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a session that is too old: %v", err)
	}
}

func TestALinkIsUsedOnceWhereverAndAfterARestart(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(broker.Options{})
	var replicas []*auth.Sessions
	for range 4 {
		replicas = append(replicas, replica(t, b, rights.Role{Name: rights.RoleResponder, Type: "web"}, auth.Options{}))
	}
	until := time.Now().Add(10 * time.Minute)
	var first atomic.Int32
	var all sync.WaitGroup
	for _, s := range append(replicas, replicas...) {
		all.Go(func() {
			ok, err := s.UseOnce(t.Context(), "link1", until)
			if err != nil {
				t.Error(err)
			}
			if ok {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if first.Load() != 1 {
		t.Errorf("it was used %d times", first.Load())
	}
	stop()
	b.Broker(broker.Options{})
	again := replica(t, b, rights.Role{Name: rights.RoleResponder, Type: "web"}, auth.Options{})
	if ok, err := again.UseOnce(t.Context(), "link1", until); ok || err != nil {
		t.Errorf("after a restart: %t, %v", ok, err)
	}
}

func TestAnInboxOfATenantKeepsItsOwnSessions(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	wide := running(t, b, auth.Options{})
	narrow := replica(t, b, rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme"}, auth.Options{})
	run(t, narrow.Run)
	id, err := narrow.Begin(t.Context(), signIn(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := narrow.Find(t.Context(), id, true); err != nil {
		t.Error(err)
	}
	if _, err := wide.Find(t.Context(), id, true); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("it opens the inbox of all tenants: %v", err)
	}
}

// Two inboxes on one bus: a link works once, and signing out at one ends the
// open stream at the other.
func TestTwoInboxes(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	key := []byte(strings.Repeat("k", 32))
	inbox := func() string {
		nc := b.Responder("web")
		resp, err := responder.New(nc, "web", responder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := auth.NewSessions(nc, auth.Options{Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		s, err := web.New(board.New(resp, board.Options{}), resp, web.Options{CookieKey: key, Sessions: sessions})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(s.Handler())
		t.Cleanup(srv.Close)
		run(t, s.Run)
		return srv.URL
	}
	one, two := inbox(), inbox()
	link, err := web.LoginLink(key, one, mei, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil) // it does not distinguish ports
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	get := func(c *http.Client, url string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	if res := get(browser, link); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	if res := get(http.DefaultClient, strings.Replace(link, one, two, 1)); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the link at another replica: %s", res.Status)
	}
	stream := get(browser, two+"/events")
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	u, err := url.Parse(one)
	if err != nil {
		t.Fatal(err)
	}
	cookies := jar.Cookies(u)
	out, err := http.NewRequestWithContext(t.Context(), http.MethodPost, one+"/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := browser.Do(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stream.Body)
	}()
	select {
	case <-ended:
	case <-time.After(waittest.Limit):
		t.Fatal("the stream goes on after signing out")
	}
	stolen, err := http.NewRequestWithContext(t.Context(), http.MethodGet, two+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cookies {
		stolen.AddCookie(c)
	}
	res, err = http.DefaultTransport.RoundTrip(stolen)
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a copy of the cookie: %v, %v", res, err)
	}
	_ = res.Body.Close()
}
