package mattermost_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
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

// people are those of the suite.
var people = map[string]string{"chat:tom": tom, "chat:ann": ann}

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
		People: maps.Clone(people),
	}
}

// surface is Mattermost for the suites.
type surface struct {
	t     *testing.T
	fake  *fakemattermost.Server
	front string // gives calls to any running replica
	tune  func(*mattermost.Options)
	chattest.Replicas[*mattermost.App]
}

func newSurface(t *testing.T) *surface {
	t.Helper()
	s := &surface{t: t, fake: home(t)}
	s.front = s.Front(t, func(app *mattermost.App) http.Handler { return app.Handler() })
	return s
}

func (s *surface) Type() string { return mattermost.Type }

func (s *surface) options() mattermost.Options {
	o := mattermost.Options{URL: s.fake.URL(), Token: fakemattermost.Token, Callback: s.front, Options: chat.Options{Routes: routes(), AckAfter: waittest.Limit, Logger: natstest.Logger()}}
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
	defer app.Drain()
	defer s.Add(app)()
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
			posts = append(posts, respondertest.Post{Ref: p.ID, Key: key, Text: strings.ReplaceAll(p.Shown(), `\`, ""), Open: len(p.Actions()) > 0})
		}
	}
	return posts
}

func (s *surface) Click(ctx context.Context, at respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	told := s.pressed(ctx, at, people[c.By.Principal], map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option])
	return strings.ReplaceAll(told, `\`, "") // Markdown, as of a post
}

func (s *surface) pressed(ctx context.Context, at respondertest.Post, who, name string) string {
	for _, p := range s.fake.Posts() {
		if p.ID != at.Ref {
			continue
		}
		told, err := s.press(ctx, who, &p, name)
		if err != nil {
			s.t.Logf("a press: %v", err)
		}
		return told
	}
	return ""
}

// Write writes in the dialog that a button of the post opens. Mattermost tells an app nothing of what people write below
// a post, so that words which are not meant for it reach nobody.
func (s *surface) Write(ctx context.Context, at respondertest.Post, words string, by ask.By) string {
	answer, ok := chattest.Answer(words)
	if !ok {
		return ""
	}
	who := people[by.Principal]
	label := "Other…"
	if !strings.Contains(at.Text, label) { // of more options than buttons, a number or a name is typed
		label = "Answer…"
	}
	if !strings.Contains(at.Text, label) { // nothing takes words
		return ""
	}
	s.pressed(ctx, at, who, label)
	for _, d := range slices.Backward(s.fake.Dialogs()) {
		if d.User == who {
			wrong, err := s.fake.Submit(ctx, who, d, answer)
			if err != nil {
				s.t.Logf("a dialog: %v", err)
			}
			return wrong
		}
	}
	s.t.Error("no dialog was opened")
	return ""
}

func (s *surface) Delete(at respondertest.Post) { s.fake.Delete(at.Ref) }

func (s *surface) Said() (all []string) {
	for _, p := range s.fake.Posts() {
		words := p.Shown()
		for _, everybody := range []string{"@all", "@channel", "@here", "@everyone"} {
			words = strings.ReplaceAll(words, everybody, respondertest.Everybody)
		}
		all = append(all, p.Channel+" "+strings.ReplaceAll(words, "@ann ", "chat:ann "))
	}
	return all
}

func (s *surface) Files() (names []string, takes bool) {
	for _, f := range s.fake.Files() {
		names = append(names, f.Name)
	}
	return names, true
}

func (s *surface) Revoke() { s.fake.Revoke() }

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
	counted := chattest.Intercept(map[string]respondertest.Op{"post": respondertest.OpPost, "edit": respondertest.OpUpdate}, f)
	s.fake.Intercept(func(method string, p *fakemattermost.Post, done bool) (time.Duration, error) {
		return counted(method, keyOf(p), done)
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return newSurface(t)
	})
}

func TestCasesOfAChat(t *testing.T) {
	t.Parallel()
	respondertest.RunChat(t, func(t *testing.T) respondertest.Chat {
		t.Helper()
		s := newSurface(t)
		s.tune = func(o *mattermost.Options) { o.AckAfter = 0 }
		return s
	})
}

// world is Mattermost on a bus.
type world struct {
	*surface
	*chattest.World
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{newSurface(t), chattest.New(t)}
}

// start runs a replica; stop ends it.
func (w *world) start(clock responder.Clock) (stop func()) {
	w.T.Helper()
	before := w.Len()
	stop = w.Start(w.surface, clock)
	natstest.Eventually(w.T, "a replica", func() bool { return w.Len() > before })
	return stop
}

// post waits for the newest post that holds.
func (w *world) post(what string, holds func(p *fakemattermost.Post) bool) *fakemattermost.Post {
	w.T.Helper()
	return chattest.Newest(w.T, what, w.fake.Posts, holds)
}

func (w *world) opened(words string) *fakemattermost.Post {
	w.T.Helper()
	return w.post("an open post with "+words, func(p *fakemattermost.Post) bool { return len(p.Actions()) > 0 && strings.Contains(p.Shown(), words) })
}

// click presses a button, and returns what the person is told.
func (w *world) click(who string, p *fakemattermost.Post, name string) string {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), waittest.Limit)
	defer cancel()
	told, err := w.fake.Press(ctx, who, p, name)
	if err != nil {
		w.T.Fatalf("the press of %q: %v", name, err)
	}
	return told
}

// say sends the newest dialog of a person, and returns what it says is wrong.
func (w *world) say(who, words string) string {
	w.T.Helper()
	for _, d := range slices.Backward(w.fake.Dialogs()) {
		if d.User == who {
			wrong, err := w.fake.Submit(w.T.Context(), who, d, words)
			if err != nil {
				w.T.Fatal(err)
			}
			return wrong
		}
	}
	w.T.Fatal("no dialog")
	return ""
}
