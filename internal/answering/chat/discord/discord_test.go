package discord_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
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

func home(t *testing.T) *fakediscord.Server {
	t.Helper()
	f := fakediscord.Start(fakediscord.Options{AckWithin: waittest.Limit}) // a busy machine; Discord itself waits 3 s
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
	return chat.Routes{Default: chat.Target{Channel: asks}, Groups: map[string]string{"platform": "role/" + sre}, People: map[string]string{"chat:tom": tom, "chat:ann": ann}}
}

func options(f *fakediscord.Server) discord.Options {
	return discord.Options{Token: fakediscord.Token, APIURL: f.URL(), AckAfter: waittest.Limit, Options: chat.Options{Routes: routes(), Logger: natstest.Logger()}}
}

// surface is Discord for the conformance suite.
type surface struct {
	t    *testing.T
	fake *fakediscord.Server
}

func (s *surface) Type() string { return discord.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	o := options(s.fake)
	o.Clock = opts.Clock
	s.fake.SetClock(opts.Clock.Now)
	app, err := discord.New(r, o)
	if err != nil {
		return err
	}
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

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	user := map[string]string{"chat:tom": tom, "chat:ann": ann}[c.By.Principal]
	label := map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option]
	for ctx.Err() == nil {
		if n, _ := s.fake.Sessions(); n > 0 || !s.fake.Await(ctx, func() bool { n, _ := s.fake.Sessions(); return n > 0 }) {
			break
		}
	}
	for _, m := range s.fake.Messages() {
		if m.ID != p.Ref {
			continue
		}
		if !m.Open() { // it was closed meanwhile, but the person's screen still has its buttons
			return ""
		}
		in, err := s.fake.Click(ctx, user, m, label)
		if err == nil && in.Type == 6 { // a result that comes later, if any
			if late, err := s.fake.Replied(ctx, in.ID, 100*time.Millisecond, func(in *fakediscord.Interaction) bool { return in.Told != nil }); err == nil {
				in = late
			}
		}
		return in.Words()
	}
	return ""
}

func (s *surface) Intercept(f func(respondertest.Call) error) {
	if f == nil {
		s.fake.Intercept(nil)
		return
	}
	ops := map[string]respondertest.Op{"post": respondertest.OpPost, "edit": respondertest.OpUpdate, "find": respondertest.OpFind}
	s.fake.Intercept(func(op, key string, done bool) (time.Duration, error) {
		err := f(respondertest.Call{Op: ops[op], Key: "askbus-" + key, Done: done})
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
		return &surface{t: t, fake: home(t)}
	})
}
