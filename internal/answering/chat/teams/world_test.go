package teams_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/teams"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// The people and the conversations of the tests.
var (
	tom   = faketeams.Person{Object: "00000000-0000-4000-8000-000000000001", Name: "Tom"}
	ann   = faketeams.Person{Object: "00000000-0000-4000-8000-000000000002", Name: "Ann"}
	mei   = faketeams.Person{Object: "00000000-0000-4000-8000-000000000003", Name: "Mei"}
	guest = faketeams.Person{Object: "00000000-0000-4000-8000-000000000004", Name: "Gus", Role: "guest"}
)

const (
	room    = "19:room@thread.v2"
	channel = "19:channel@thread.tacv2"
	oncall  = "19:oncall@thread.v2"
)

func home(t *testing.T) *faketeams.Server {
	t.Helper()
	f := faketeams.Start()
	t.Cleanup(f.Close)
	f.AnswerWithin(waittest.Limit)
	for _, p := range []faketeams.Person{tom, mei, guest} {
		f.Add(p, room, channel)
	}
	f.Add(ann, room, channel, oncall)
	return f
}

func routes() chat.Routes {
	return chat.Routes{
		Default: chat.Target{Channel: room}, Groups: map[string]string{"platform": oncall},
		People: map[string]string{"chat:tom": tom.Object, "chat:ann": ann.Object},
	}
}

func options(f *faketeams.Server) teams.Options {
	return teams.Options{
		AppID: faketeams.App, Directory: faketeams.Tenant, Secret: faketeams.Secret,
		ServiceURL: f.URL(), LoginURL: f.URL(), KeysURL: f.Metadata(), AckAfter: waittest.Limit, Options: chat.Options{Routes: routes(), Logger: natstest.Logger()},
	}
}

// surface is Teams for the conformance suite. Its front delivers to any running replica.
type surface struct {
	t     *testing.T
	fake  *faketeams.Server
	tune  func(*teams.Options)
	mu    sync.Mutex
	alive []*teams.App
}

func newSurface(t *testing.T) *surface {
	t.Helper()
	s := &surface{t: t, fake: home(t)}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		var app *teams.App
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
	s.fake.Bot(front.URL + teams.PathMessages)
	return s
}

func (s *surface) Type() string { return teams.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	o := options(s.fake)
	o.Clock = opts.Clock
	if s.tune != nil {
		s.tune(&o)
	}
	app, err := teams.New(r, o)
	if err != nil {
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

// keyOf returns the key of the ask whose controls or outcome a message has. One that never had either is what a crash
// leaves, which nobody can answer.
func keyOf(m *faketeams.Message) string {
	of, _ := m.Data()["askbus"].(string)
	ref, ok := chat.ParseRef(of)
	if !ok {
		return ""
	}
	return responder.PostKey(teams.Type, ref.Key, ref.Life)
}

func (s *surface) Posts() (posts []respondertest.Post) {
	for _, m := range s.fake.Messages() {
		if key := keyOf(&m); key != "" {
			posts = append(posts, respondertest.Post{Ref: m.ID, Key: key, Text: m.Shown(), Open: m.Open()})
		}
	}
	return posts
}

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	for _, m := range s.fake.Messages() {
		if m.ID != p.Ref {
			continue
		}
		who := map[string]faketeams.Person{"chat:tom": tom, "chat:ann": ann}[c.By.Principal]
		data := map[string]any{"do": "choose", "option": map[string]int{"pg": 0, "lite": 1}[c.Option], "askbus": m.Data()["askbus"]}
		told, _, err := s.fake.Invoke(ctx, who, &m, data)
		if err != nil {
			s.t.Logf("a press: %v", err)
		}
		return told
	}
	return ""
}

func (s *surface) Intercept(f func(respondertest.Call) error) {
	if f == nil {
		s.fake.Intercept(nil)
		return
	}
	ops := map[string]respondertest.Op{"post": respondertest.OpPost, "edit": respondertest.OpUpdate}
	s.fake.Intercept(func(method string, m *faketeams.Message, done bool) (time.Duration, error) {
		op, ok := ops[method]
		if !ok {
			return 0, nil
		}
		err := f(respondertest.Call{Op: op, Key: keyOf(m), Done: done})
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

// world is a bus, Teams and an agent.
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
	r := w.responder(teams.Type)
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

// message waits for the newest message that holds.
func (w *world) message(what string, holds func(m *faketeams.Message) bool) (found faketeams.Message) {
	w.t.Helper()
	natstest.Eventually(w.t, what, func() bool {
		for _, m := range w.fake.Messages() {
			if holds(&m) {
				found = m
			}
		}
		return found.ID != ""
	})
	return found
}

func (w *world) opened(words string) *faketeams.Message {
	w.t.Helper()
	m := w.message("an open message with "+words, func(m *faketeams.Message) bool { return m.Open() && strings.Contains(m.Shown(), words) })
	return &m
}

// press presses an action, and returns what the person is told.
func (w *world) press(p faketeams.Person, m *faketeams.Message, title string, inputs map[string]string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waittest.Limit)
	defer cancel()
	told, _, err := w.fake.Press(ctx, p, m, title, inputs)
	if err != nil {
		w.t.Fatalf("the press of %q: %v", title, err)
	}
	return told
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
