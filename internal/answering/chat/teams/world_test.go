package teams_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/teams"
	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
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

// people are those of the suite.
var people = map[string]faketeams.Person{"chat:tom": tom, "chat:ann": ann}

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
		ServiceURL: f.URL(), LoginURL: f.URL(), KeysURL: f.Metadata(), Options: chat.Options{Routes: routes(), AckAfter: waittest.Limit, Logger: natstest.Logger()},
	}
}

// surface is Teams for the suites.
type surface struct {
	t    *testing.T
	fake *faketeams.Server
	tune func(*teams.Options)
	chattest.Replicas[*teams.App]
}

func newSurface(t *testing.T) *surface {
	t.Helper()
	s := &surface{t: t, fake: home(t)}
	s.fake.Bot(s.Front(t, func(app *teams.App) http.Handler { return app.Handler() }) + teams.PathMessages)
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
	defer app.Drain()
	defer s.Add(app)()
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

// at returns the message of a post.
func (s *surface) at(p respondertest.Post) *faketeams.Message {
	for _, m := range s.fake.Messages() {
		if m.ID == p.Ref {
			return &m
		}
	}
	return nil
}

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	m := s.at(p)
	if m == nil {
		return ""
	}
	data := map[string]any{"do": "choose", "option": map[string]int{"pg": 0, "lite": 1}[c.Option], "askbus": m.Data()["askbus"]}
	told, _, err := s.fake.Invoke(ctx, people[c.By.Principal], m, data)
	if err != nil {
		s.t.Logf("a press: %v", err)
	}
	return told
}

// Write writes where the post is. An answer mentions the bot, without which Teams tells it nothing unless the app may read
// all messages. A person is told in the conversation.
func (s *surface) Write(ctx context.Context, p respondertest.Post, words string, by ask.By) string {
	if m := s.at(p); m != nil {
		_, addressed := chattest.Answer(words)
		if err := s.fake.Write(ctx, people[by.Principal], m.Conversation, words, addressed); err != nil {
			s.t.Logf("words: %v", err)
		}
	}
	return ""
}

func (s *surface) Delete(p respondertest.Post) {
	if m := s.at(p); m != nil {
		s.fake.Delete(m.Conversation, m.ID)
	}
}

func (s *surface) Said() (all []string) {
	for _, m := range s.fake.Messages() {
		all = append(all, m.Conversation+" "+strings.ReplaceAll(m.Shown(), "<at>Ann</at>", "chat:ann"))
	}
	return all
}

// Files returns none: cards name them, and their link leads to them.
func (s *surface) Files() (names []string, takes bool) { return nil, false }

func (s *surface) Revoke() { s.fake.Revoke() }

func (s *surface) Intercept(f func(respondertest.Call) error) {
	counted := chattest.Intercept(map[string]respondertest.Op{"post": respondertest.OpPost, "edit": respondertest.OpUpdate}, f)
	s.fake.Intercept(func(method string, m *faketeams.Message, done bool) (time.Duration, error) {
		return counted(method, keyOf(m), done)
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
		s.tune = func(o *teams.Options) { o.AckAfter = 0 }
		return s
	})
}

// world is Teams on a bus.
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

// message waits for the newest message that holds.
func (w *world) message(what string, holds func(m *faketeams.Message) bool) faketeams.Message {
	w.T.Helper()
	return *chattest.Newest(w.T, what, w.fake.Messages, holds)
}

func (w *world) opened(words string) *faketeams.Message {
	w.T.Helper()
	m := w.message("an open message with "+words, func(m *faketeams.Message) bool { return m.Open() && strings.Contains(m.Shown(), words) })
	return &m
}

// press presses an action, and returns what the person is told.
func (w *world) press(p faketeams.Person, m *faketeams.Message, title string, inputs map[string]string) string {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), waittest.Limit)
	defer cancel()
	told, _, err := w.fake.Press(ctx, p, m, title, inputs)
	if err != nil {
		w.T.Fatalf("the press of %q: %v", title, err)
	}
	return told
}
