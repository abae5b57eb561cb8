package slack_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// home starts a workspace with two people, a user group and a channel.
func home(t *testing.T, opts fakeslack.Options) *fakeslack.Server {
	t.Helper()
	f, err := fakeslack.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.AddUser(fakeslack.User{ID: "U0TOM", Name: "Tom", Email: "tom@example.com"})
	f.AddUser(fakeslack.User{ID: "U0ANN", Name: "Ann", Email: "ann@example.com"})
	f.AddGroup(fakeslack.Group{ID: "S0PLATFORM", Handle: "platform", Members: []string{"U0ANN"}})
	f.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{"U0TOM", "U0ANN", fakeslack.BotUser}})
	return f
}

func routes() chat.Routes {
	return chat.Routes{
		Default: chat.Target{Channel: "C0ASKS"},
		Groups:  map[string]string{"platform": "S0PLATFORM"},
		People:  map[string]string{"chat:tom": "U0TOM", "chat:ann": "U0ANN"},
	}
}

// surface is Slack for the conformance suite: HTTP deliveries to any running replica.
type surface struct {
	t    *testing.T
	fake *fakeslack.Server

	last atomic.Pointer[slack.App] // that started

	mu   sync.Mutex
	live []*httptest.Server
}

func (s *surface) Type() string { return slack.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	o := s.fake.Settings()
	app, err := slack.New(r, slack.Options{
		BotToken: o.BotToken, SigningSecret: o.SigningSecret, APIURL: s.fake.URL(), Options: chat.Options{Routes: routes(), Clock: opts.Clock, Logger: natstest.Logger()},
	})
	if err != nil {
		return err
	}
	if _, err := app.Connect(ctx); err != nil {
		return err
	}
	s.last.Store(app)
	web := httptest.NewServer(app.Handler())
	s.mu.Lock()
	s.live = append(s.live, web)
	s.mu.Unlock()
	s.deliver()
	defer func() {
		s.mu.Lock()
		for i, other := range s.live {
			if other == web {
				s.live = append(s.live[:i:i], s.live[i+1:]...)
			}
		}
		s.mu.Unlock()
		s.deliver()
		web.Close()
		app.Drain()
	}()
	return app.Serve(ctx, opts)
}

// deliver sends deliveries to the newest replica.
func (s *surface) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.live); n > 0 {
		url := s.live[n-1].URL
		s.fake.DeliverTo(url+slack.PathEvents, url+slack.PathInteractions, url+slack.PathCommands)
	}
}

func (s *surface) Posts() []respondertest.Post {
	var posts []respondertest.Post
	for _, m := range s.fake.Messages("") {
		posts = append(posts, respondertest.Post{Ref: m.Channel + " " + m.TS, Key: m.Key(), Text: m.Shown(), Open: m.Live()})
	}
	return posts
}

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	var at fakeslack.Place
	for _, m := range s.fake.Messages("") {
		if m.Channel+" "+m.TS == p.Ref {
			at = m.Place
		}
	}
	user := map[string]string{"chat:tom": "U0TOM", "chat:ann": "U0ANN"}[c.By.Principal]
	label := map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option]
	before := len(s.fake.Ephemerals())
	if d := s.fake.Click(user, at, label); !d.Acked {
		return "" // somebody was faster, and the buttons are gone
	}
	told := ""
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	s.fake.Await(ctx, func() bool {
		for _, m := range s.fake.Ephemerals()[before:] {
			if m.For == user {
				told = m.Text
				return true
			}
		}
		m, ok := s.fake.Message(at)
		return !ok || !m.Live()
	})
	return told
}

func (s *surface) Intercept(f func(respondertest.Call) error) {
	if f == nil {
		s.fake.Intercept(nil)
		return
	}
	ops := map[string]respondertest.Op{
		"chat.postMessage": respondertest.OpPost, "chat.update": respondertest.OpUpdate,
		"conversations.history": respondertest.OpFind, "conversations.replies": respondertest.OpFind,
	}
	s.fake.Intercept(func(method, key string, done bool) (time.Duration, error) {
		op, ok := ops[method]
		if !ok {
			return 0, nil
		}
		err := f(respondertest.Call{Op: op, Key: key, Done: done})
		if retry, ok := errors.AsType[*responder.RetryError](err); ok {
			return retry.After, err
		}
		return 0, err
	})
}

// at returns the message of a post.
func (s *surface) at(p respondertest.Post) (at fakeslack.Place) {
	for _, m := range s.fake.Messages("") {
		if m.Channel+" "+m.TS == p.Ref {
			at = m.Place
		}
	}
	return at
}

// Write replies in the card's thread.
func (s *surface) Write(_ context.Context, p respondertest.Post, words string, by ask.By) string {
	at := s.at(p)
	s.fake.Write(map[string]string{"chat:tom": "U0TOM", "chat:ann": "U0ANN"}[by.Principal], at.Channel, at.TS, words)
	return ""
}

func (s *surface) Delete(p respondertest.Post) { s.fake.Remove(s.at(p)) }

func (s *surface) Said() (all []string) {
	for _, m := range s.fake.Messages("") {
		all = append(all, m.Channel+" "+strings.NewReplacer("<@U0ANN>", "chat:ann", "<!channel>", respondertest.Everybody).Replace(m.Text))
	}
	return all
}

func (s *surface) Files() (names []string, takes bool) {
	for _, f := range s.fake.Files() {
		names = append(names, f.Name)
	}
	return names, true
}

func (s *surface) Revoke() { s.fake.Revoke("token_revoked") }

func (s *surface) Ready() error { return s.last.Load().Ready() }

func TestCasesOfAChat(t *testing.T) {
	t.Parallel()
	respondertest.RunChat(t, func(t *testing.T) respondertest.Chat {
		t.Helper()
		return &surface{t: t, fake: home(t, fakeslack.Options{NoLimits: true})}
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return &surface{t: t, fake: home(t, fakeslack.Options{NoLimits: true})}
	})
}
