package discord_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// The people, channels and roles of the tests.
const (
	tom   = "200000000000000101"
	ann   = "200000000000000102"
	mei   = "200000000000000103"
	robot = "200000000000000104"
	guest = "200000000000000105"
	asks  = "300000000000000001"
	more  = "300000000000000002"
	sre   = "400000000000000001"
)

// users are those of the suite.
var users = map[string]string{"chat:tom": tom, "chat:ann": ann}

func home(t *testing.T) *fakediscord.Server {
	t.Helper()
	return homeOf(t, fakediscord.Options{AckWithin: waittest.Limit}) // a busy machine; Discord itself waits 3 s
}

func homeOf(t *testing.T, o fakediscord.Options) *fakediscord.Server {
	t.Helper()
	f := fakediscord.Start(o)
	t.Cleanup(f.Close)
	f.AddRole(sre, "sre")
	f.AddUser(fakediscord.User{ID: tom, Name: "tom", Global: "Tom"})
	f.AddUser(fakediscord.User{ID: ann, Name: "ann", Global: "Ann", Roles: []string{sre}})
	f.AddUser(fakediscord.User{ID: mei, Name: "mei", Global: "Mei"})
	f.AddUser(fakediscord.User{ID: robot, Name: "robot", Bot: true})
	f.AddUser(fakediscord.User{ID: guest, Name: "guest", Flags: 1 << 4})
	f.AddChannel(asks)
	f.AddChannel(more)
	return f
}

func routes() chat.Routes {
	return chat.Routes{Default: chat.Target{Channel: asks}, Groups: map[string]string{"platform": "role/" + sre}, People: maps.Clone(users)}
}

func options(f *fakediscord.Server) discord.Options {
	return discord.Options{Token: fakediscord.Token, APIURL: f.URL(), Options: chat.Options{Routes: routes(), AckAfter: waittest.Limit, Logger: natstest.Logger()}}
}

// surface is Discord for the suites.
type surface struct {
	t    *testing.T
	fake *fakediscord.Server
	tune func(*discord.Options)
	chattest.Replicas[*discord.App]
}

func (s *surface) Type() string { return discord.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	o := options(s.fake)
	o.Clock = opts.Clock
	if s.tune != nil {
		s.tune(&o)
	}
	s.fake.SetClock(opts.Clock.Now)
	app, err := discord.New(r, o)
	if err != nil {
		return err
	}
	defer s.Add(app)()
	done := make(chan error, 1)
	go func() { done <- app.Listen(ctx) }()
	err = app.Serve(ctx, opts)
	return errors.Join(err, <-done)
}

func (s *surface) Posts() (posts []respondertest.Post) {
	for _, m := range s.fake.Messages() {
		posts = append(posts, respondertest.Post{Ref: m.ID, Key: "askbus-" + m.Nonce, Text: strings.ReplaceAll(m.Shown(), `\`, ""), Open: m.Open()})
	}
	return posts
}

// click uses a control of a post that is still open, whatever the person's screen has.
func (s *surface) click(ctx context.Context, p respondertest.Post, user, label string) (in fakediscord.Interaction) {
	s.fake.Await(ctx, func() bool { n, _ := s.fake.Sessions(); return n > 0 })
	for _, m := range s.fake.Messages() {
		if m.ID != p.Ref || !m.Open() {
			continue
		}
		in, err := s.fake.Click(ctx, user, m, label)
		if err != nil {
			s.t.Logf("a click: %v", err)
		}
		return in
	}
	return in
}

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	in := s.click(ctx, p, users[c.By.Principal], map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option])
	if in.Type == 6 { // a result that comes later, if any
		if late, err := s.fake.Replied(ctx, in.ID, 100*time.Millisecond, func(in *fakediscord.Interaction) bool { return in.Told != nil }); err == nil {
			in = late
		}
	}
	return in.Words()
}

// Write writes in the form that a control of the post opens. Discord tells an app without a privileged intent nothing of
// what people write in a channel, so that words which are not meant for it reach nobody.
func (s *surface) Write(ctx context.Context, p respondertest.Post, words string, by ask.By) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	answer, ok := chattest.Answer(words)
	if !ok {
		return ""
	}
	label, values := "Other…", map[string][]string{"q0": {"Other…"}, "other": {answer}}
	if !strings.Contains(p.Text, label) { // of more options than a form lists, a number or a name is typed
		label, values = "Answer…", map[string][]string{"q0": {answer}}
	}
	if !strings.Contains(p.Text, label) { // nothing takes words
		return ""
	}
	in, err := s.fake.Submit(ctx, s.click(ctx, p, users[by.Principal], label), values)
	if err != nil {
		s.t.Errorf("a form: %v", err)
	}
	return in.Words()
}

func (s *surface) Delete(p respondertest.Post) { s.fake.Delete(p.Ref) }

func (s *surface) Said() (all []string) {
	for _, m := range s.fake.Messages() {
		words := m.Shown()
		for _, who := range m.Notified {
			switch who {
			case ann:
				words += " chat:ann"
			case "@everyone", "@here":
				words += respondertest.Everybody
			}
		}
		all = append(all, m.Channel+" "+words)
	}
	return all
}

func (s *surface) Files() (names []string, takes bool) {
	for _, m := range s.fake.Messages() {
		for _, f := range m.Files {
			names = append(names, f.Name)
		}
	}
	return names, true
}

func (s *surface) Revoke() { s.fake.Revoke() }

func (s *surface) Intercept(f func(respondertest.Call) error) {
	counted := chattest.Intercept(map[string]respondertest.Op{"post": respondertest.OpPost, "edit": respondertest.OpUpdate, "find": respondertest.OpFind}, f)
	s.fake.Intercept(func(op, key string, done bool) (time.Duration, error) { return counted(op, "askbus-"+key, done) })
}

func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return &surface{t: t, fake: home(t)}
	})
}

func TestCasesOfAChat(t *testing.T) {
	t.Parallel()
	respondertest.RunChat(t, func(t *testing.T) respondertest.Chat {
		t.Helper()
		fake := home(t)
		if strings.Contains(t.Name(), "500_outcomes") { // by one replica, which knows what is left of each limit
			t.Cleanup(func() {
				if n := fake.Calls("429"); n > 0 {
					t.Errorf("%d calls beyond Discord's limits", n)
				}
			})
		}
		return &surface{t: t, fake: fake, tune: func(o *discord.Options) { o.AckAfter, o.Link = 0, respondertest.Link }}
	})
}
