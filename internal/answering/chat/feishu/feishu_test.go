package feishu_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// The people and the chats of the tests. Guest is of another organization.
const (
	tom, ann, mei, guest = "on_tom", "on_ann", "on_mei", "on_guest"
	group, platform      = "oc_asks", "oc_platform"
)

// users are those of the suite.
var users = map[string]string{"chat:tom": tom, "chat:ann": ann}

func home(t *testing.T) *fakefeishu.Server {
	t.Helper()
	f := fakefeishu.Start()
	t.Cleanup(f.Close)
	f.AnswerWithin(waittest.Limit)
	f.AddUser(fakefeishu.User{Union: tom, Open: "ou_tom", Name: "Tom"}, group)
	f.AddUser(fakefeishu.User{Union: ann, Open: "ou_ann", Name: "Ann"}, group, platform)
	f.AddUser(fakefeishu.User{Union: mei, Open: "ou_mei", Name: "Mei", Hidden: true}, group)
	f.AddUser(fakefeishu.User{Union: guest, Open: "ou_guest", Name: "Guest", Tenant: "elsewhere"}, group)
	return f
}

func routes() chat.Routes {
	return chat.Routes{
		Default: chat.Target{Channel: group, Language: "en"}, Groups: map[string]string{"platform": platform},
		People: map[string]string{"chat:tom": tom, "chat:ann": "ou_ann"},
	}
}

func options(f *fakefeishu.Server) feishu.Options {
	return feishu.Options{AppID: fakefeishu.AppID, AppSecret: fakefeishu.AppSecret, Domain: f.URL(), Options: chat.Options{Routes: routes(), AckAfter: waittest.Limit, Logger: natstest.Logger()}}
}

// surface is Feishu for the conformance suite.
type surface struct {
	fake    *fakefeishu.Server
	webhook bool
	tune    func(*feishu.Options)
	chattest.Replicas[*feishu.App]
}

func (s *surface) Type() string { return feishu.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	o := options(s.fake)
	o.Clock = opts.Clock
	s.fake.SetNow(opts.Clock.Now)
	if s.webhook {
		o.EncryptKey, o.VerificationToken = fakefeishu.EncryptKey, fakefeishu.VerificationToken
	}
	if s.tune != nil {
		s.tune(&o)
	}
	app, err := feishu.New(r, o)
	if err != nil {
		return err
	}
	if _, err := app.Connect(ctx); err != nil {
		return err
	}
	defer s.Add(app)()
	if s.webhook {
		web := httptest.NewServer(app.Handler())
		defer web.Close()
		s.fake.Webhook(web.URL + feishu.PathEvents)
		return app.Serve(ctx, opts)
	}
	done := make(chan error, 1)
	go func() { done <- app.Listen(ctx) }()
	err = app.Serve(ctx, opts)
	return errors.Join(err, <-done)
}

// keyOf returns the key of the ask of a card: it is in the names of buttons, and the uuid of the post.
func keyOf(name string) string {
	return "askbus-" + name[strings.LastIndexAny(name, "_-")+1:]
}

func (s *surface) Posts() (posts []respondertest.Post) {
	for _, m := range s.fake.Messages() {
		if m.Kind == "interactive" && m.Edits > 0 { // one that never got its buttons is what a crash leaves, which nobody can answer
			posts = append(posts, respondertest.Post{Ref: m.ID, Key: m.Key, Text: m.Shown(), Open: m.Open()})
		}
	}
	return posts
}

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	s.fake.Await(ctx, func() bool { return s.webhook || s.fake.Connections() > 0 })
	for _, m := range s.fake.Messages() {
		if m.ID == p.Ref {
			return s.fake.Click(ctx, m, fakefeishu.Click{Event: c.ID, User: users[c.By.Principal], Label: map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option]}).Told
		}
	}
	return ""
}

// Write replies to the post. An answer mentions the bot, without which Feishu tells it nothing unless the app may read all
// messages. A person is told in the chat.
func (s *surface) Write(ctx context.Context, p respondertest.Post, words string, by ask.By) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	_, addressed := chattest.Answer(words)
	_ = s.fake.Write(ctx, users[by.Principal], group, words, p.Ref, addressed) // what is not answered in time comes again
	return ""
}

func (s *surface) Delete(p respondertest.Post) { s.fake.Recall(p.Ref) }

// Said never has [respondertest.Everybody]: the fake refuses a mention of all.
func (s *surface) Said() (all []string) {
	for _, m := range s.fake.Messages() {
		words := m.Shown()
		if slices.Contains(m.Mentions, ann) {
			words += " chat:ann"
		}
		all = append(all, m.Chat+" "+words)
	}
	return all
}

func (s *surface) Files() (names []string, takes bool) {
	for _, m := range s.fake.Messages() {
		if m.File != "" {
			names = append(names, m.File)
		}
	}
	return names, true
}

func (s *surface) Revoke() { s.fake.Revoke() }

func (s *surface) Intercept(f func(respondertest.Call) error) {
	counted := chattest.Intercept(map[string]respondertest.Op{"POST messages": respondertest.OpPost, "PATCH messages": respondertest.OpUpdate}, f)
	s.fake.Intercept(func(c fakefeishu.Call) (time.Duration, error) {
		if c.First { // which gives the card its buttons
			return 0, nil
		}
		return counted(c.Name, keyOf(c.Button), c.Done)
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return &surface{fake: home(t)}
	})
}

func TestCasesOfAChat(t *testing.T) {
	t.Parallel()
	respondertest.RunChat(t, func(t *testing.T) respondertest.Chat {
		t.Helper()
		return &surface{fake: home(t), tune: func(o *feishu.Options) { o.AckAfter = 0 }}
	})
}
