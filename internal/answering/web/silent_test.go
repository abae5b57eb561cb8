package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// silentBus is a bus that does not answer some reads until their contexts end.
type silentBus struct {
	*bus
	people    *silentPeople
	asks, own bool // silent reads: of asks; of what a person snoozed
}

func (s *silentBus) Recent(ctx context.Context, k ask.Key, age time.Duration) (ask.Record, error) {
	if s.asks {
		<-ctx.Done()
		return ask.Record{}, ctx.Err()
	}
	return s.bus.Recent(ctx, k, age)
}

func (s *silentBus) Snoozed(ctx context.Context, v board.Viewer) (map[ask.Key]time.Time, error) {
	if s.own {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.bus.Snoozed(ctx, v)
}

type silentPeople struct {
	*people
	silent bool
}

func (s *silentPeople) Find(ctx context.Context, id string, active bool) (auth.Person, error) {
	if s.silent {
		<-ctx.Done()
		return auth.Person{}, ctx.Err()
	}
	return s.people.Find(ctx, id, active)
}

// TestAPageDoesNotWaitForASilentBus checks that a page waits three seconds for
// each read on a silent bus, and then shows what it has. The clock is that of
// the synctest bubble: it advances only while every goroutine waits.
func TestAPageDoesNotWaitForASilentBus(t *testing.T) {
	t.Parallel()
	const ours = "/ask/default/s1/a1"
	for name, c := range map[string]struct {
		method, path string
		hush         func(*silentBus)
		status       int
		reads        int // the number of consecutive reads
	}{
		"who is signed in":      {"GET", "/", func(s *silentBus) { s.people.silent = true }, http.StatusServiceUnavailable, 1},
		"an ask":                {"GET", ours, func(s *silentBus) { s.asks = true }, http.StatusServiceUnavailable, 1},
		"an answer":             {"POST", ours + "/answer", func(s *silentBus) { s.asks = true }, http.StatusServiceUnavailable, 1},
		"what somebody put off": {"GET", "/", func(s *silentBus) { s.own = true }, http.StatusOK, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBus()
				b.ask(question("a1", text("t", "And you?")), 0)
				s := &silentBus{bus: b, people: &silentPeople{people: &b.people}}
				srv, err := web.New(s, s, web.Options{CookieKey: cookieKey, Sessions: s.people})
				if err != nil {
					t.Fatal(err)
				}
				h := srv.Handler()
				do := func(method, path string, cookies ...*http.Cookie) *http.Response {
					r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil)
					for _, c := range cookies {
						r.AddCookie(c)
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					return w.Result()
				}
				link, err := web.LoginLink(cookieKey, "", mei, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				in := do(http.MethodGet, strings.TrimPrefix(link, "http://localhost"))
				if len(in.Cookies()) != 1 {
					t.Fatalf("signing in: %s", in.Status)
				}
				c.hush(s)
				began := time.Now()
				res := do(c.method, c.path, in.Cookies()...)
				limit := time.Duration(c.reads) * (3 * time.Second)
				if took := time.Since(began); took != limit || res.StatusCode != c.status {
					t.Errorf("%s after %s, want %d after %s", res.Status, took, c.status, limit)
				}
			})
		})
	}
}
