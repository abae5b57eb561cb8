package mattermost_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// The people and the channels of the tests.
const (
	tom   = "tomtomtomtomtomtomtomtomto"
	ann   = "annannannannannannannannan"
	mei   = "meimeimeimeimeimeimeimeime"
	guest = "guestguestguestguestguestg"

	room   = "roomroomroomroomroomroomro"
	oncall = "oncalloncalloncalloncallon"
)

func home(t *testing.T) *fakemattermost.Server {
	t.Helper()
	f := fakemattermost.Start()
	t.Cleanup(f.Close)
	f.Add(fakemattermost.User{ID: tom, Username: "tom", First: "Tom"}, room)
	f.Add(fakemattermost.User{ID: ann, Username: "ann", First: "Ann"}, room, oncall)
	f.Add(fakemattermost.User{ID: mei, Username: "mei", First: "Mei"}, room)
	f.Add(fakemattermost.User{ID: guest, Username: "gus", Roles: "system_guest"}, room)
	return f
}

func routes() chat.Routes {
	return chat.Routes{
		Default: chat.Target{Channel: room}, Groups: map[string]string{"platform": oncall},
		People: map[string]string{"chat:tom": tom, "chat:ann": ann},
	}
}

// surface is Mattermost for the conformance suite. Its front gives calls to any running replica.
type surface struct {
	t     *testing.T
	fake  *fakemattermost.Server
	front string
	tune  func(*mattermost.Options)
	mu    sync.Mutex
	alive []*mattermost.App
}

func newSurface(t *testing.T) *surface {
	t.Helper()
	s := &surface{t: t, fake: home(t)}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		var app *mattermost.App
		if n := len(s.alive); n > 0 {
			app = s.alive[n-1]
		}
		s.mu.Unlock()
		if app == nil {
			http.Error(w, "nobody", http.StatusBadGateway)
			return
		}
		app.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.front = front.URL
	return s
}

func (s *surface) Type() string { return mattermost.Type }

func (s *surface) options() mattermost.Options {
	o := mattermost.Options{URL: s.fake.URL(), Token: fakemattermost.Token, Callback: s.front, AckAfter: waittest.Limit, Options: chat.Options{Routes: routes(), Logger: natstest.Logger()}}
	if s.tune != nil {
		s.tune(&o)
	}
	return o
}

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	o := s.options()
	o.Clock = opts.Clock
	app, err := mattermost.New(r, o)
	if err != nil {
		return err
	}
	if _, err := app.Connect(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.alive = append(s.alive, app)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		for i, one := range s.alive {
			if one == app {
				s.alive = append(s.alive[:i:i], s.alive[i+1:]...)
				break
			}
		}
		s.mu.Unlock()
		app.Drain()
	}()
	return app.Serve(ctx, opts)
}

// keyOf returns the key of the ask whose buttons or outcome a post had. One that never had either is what a crash leaves,
// which nobody can answer.
func keyOf(p *fakemattermost.Post) string {
	if len(p.Keys) == 0 && !p.Edited {
		return ""
	}
	return p.Props.Key
}

func (s *surface) Posts() (posts []respondertest.Post) {
	for _, p := range s.fake.Posts() {
		if key := keyOf(&p); key != "" {
			posts = append(posts, respondertest.Post{Ref: p.ID, Key: key, Text: p.Shown(), Open: len(p.Actions()) > 0})
		}
	}
	return posts
}

func (s *surface) Click(ctx context.Context, at respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	for _, p := range s.fake.Posts() {
		if p.ID != at.Ref {
			continue
		}
		who := map[string]string{"chat:tom": tom, "chat:ann": ann}[c.By.Principal]
		told, err := s.press(ctx, who, &p, map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option])
		if err != nil {
			s.t.Logf("a press: %v", err)
		}
		return told
	}
	return ""
}

// buttons remembers the buttons of posts: people press what they still see.
var buttons sync.Map // by the address of the front, the id of a post and the name of a button

func (s *surface) press(ctx context.Context, who string, p *fakemattermost.Post, name string) (string, error) {
	for _, a := range p.Actions() {
		buttons.Store(s.front+p.ID+strings.TrimPrefix(a.Name, "⭐ "), a)
	}
	a, ok := buttons.Load(s.front + p.ID + strings.TrimPrefix(name, "⭐ "))
	if !ok {
		return "", errors.New("no button is called " + name)
	}
	one, _ := a.(fakemattermost.Action)
	return s.fake.Call(ctx, who, p, one.Integration.URL, one.Integration.Context)
}

func (s *surface) Intercept(f func(respondertest.Call) error) {
	if f == nil {
		s.fake.Intercept(nil)
		return
	}
	ops := map[string]respondertest.Op{"post": respondertest.OpPost, "edit": respondertest.OpUpdate}
	s.fake.Intercept(func(method string, p *fakemattermost.Post, done bool) (time.Duration, error) {
		op, ok := ops[method]
		if !ok {
			return 0, nil
		}
		err := f(respondertest.Call{Op: op, Key: keyOf(p), Done: done})
		if retry, ok := errors.AsType[*responder.RetryError](err); ok {
			return retry.After, err
		}
		return 0, err
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return newSurface(t)
	})
}

// world is a bus, Mattermost and an agent.
type world struct {
	*surface
	bus   *natstest.Bus
	agent client.Session
	other *responder.Responder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: waittest.Limit / 24}})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &world{surface: newSurface(t), bus: b, agent: c.Session("acme", "s1")}
	w.other = w.responder("web")
	return w
}

func (w *world) responder(typ string) *responder.Responder {
	w.t.Helper()
	r, err := responder.New(w.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: typ}), typ, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// start runs a replica; stop ends it.
func (w *world) start(clock responder.Clock) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	r := w.responder(mattermost.Type)
	w.mu.Lock()
	before := len(w.alive)
	w.mu.Unlock()
	go func() { done <- w.Serve(ctx, r, responder.ServeOptions{Clock: clock}) }()
	natstest.Eventually(w.t, "a replica", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.alive) > before
	})
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				w.t.Errorf("Serve: %v", err)
			}
		})
	}
	w.t.Cleanup(stop)
	return stop
}

func (w *world) ask(a ask.Ask) {
	w.t.Helper()
	if _, err := w.agent.Ask(w.t.Context(), a); err != nil {
		w.t.Fatal(err)
	}
}

// post waits for the newest post that holds.
func (w *world) post(what string, holds func(p *fakemattermost.Post) bool) *fakemattermost.Post {
	w.t.Helper()
	var found fakemattermost.Post
	natstest.Eventually(w.t, what, func() bool {
		for _, p := range w.fake.Posts() {
			if holds(&p) {
				found = p
			}
		}
		return found.ID != ""
	})
	return &found
}

func (w *world) opened(words string) *fakemattermost.Post {
	w.t.Helper()
	return w.post("an open post with "+words, func(p *fakemattermost.Post) bool { return len(p.Actions()) > 0 && strings.Contains(p.Shown(), words) })
}

// click presses a button, and returns what the person is told.
func (w *world) click(who string, p *fakemattermost.Post, name string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waittest.Limit)
	defer cancel()
	told, err := w.fake.Press(ctx, who, p, name)
	if err != nil {
		w.t.Fatalf("the press of %q: %v", name, err)
	}
	return told
}

// say sends the newest dialog of a person, and returns what it says is wrong.
func (w *world) say(who, words string) string {
	w.t.Helper()
	for _, d := range slices.Backward(w.fake.Dialogs()) {
		if d.User == who {
			wrong, err := w.fake.Submit(w.t.Context(), who, d, words)
			if err != nil {
				w.t.Fatal(err)
			}
			return wrong
		}
	}
	w.t.Fatal("no dialog")
	return ""
}

func (w *world) wait(id string) ask.Outcome {
	w.t.Helper()
	var o *ask.Outcome
	natstest.Eventually(w.t, "an outcome", func() bool {
		rec, err := w.other.Get(w.t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id})
		o = rec.Outcome
		return err == nil && o != nil
	})
	return *o
}

func choice(id, text string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: text, Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Recommended: true}, {ID: "lite", Label: "SQLite"}}}}}
}
