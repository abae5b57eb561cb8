package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// The people and the group of the tests.
const (
	tom, ann, mei = 101, 102, 103
	group         = -100500
)

func home(t *testing.T) *faketelegram.Server {
	t.Helper()
	f := faketelegram.Start()
	t.Cleanup(f.Close)
	f.AddUser(faketelegram.User{ID: tom, First: "Tom"}, group)
	f.AddUser(faketelegram.User{ID: ann, First: "Ann"}, group, -42)
	f.AddUser(faketelegram.User{ID: mei, First: "Mei"}, group)
	return f
}

func routes() chat.Routes {
	return chat.Routes{
		Default: chat.Target{Channel: fmt.Sprint(group)}, Groups: map[string]string{"platform": "-42"},
		People: map[string]string{"chat:tom": fmt.Sprint(tom), "chat:ann": fmt.Sprint(ann)},
	}
}

// surface is Telegram for the conformance suite.
type surface struct {
	t    *testing.T
	fake *faketelegram.Server
	tune func(*telegram.Options)
	chattest.Replicas[*telegram.App]
}

// users are those of the suite.
var users = map[string]int64{"chat:tom": tom, "chat:ann": ann}

func (s *surface) Type() string { return telegram.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	o := telegram.Options{Token: faketelegram.Token, APIURL: s.fake.URL(), Options: chat.Options{Routes: routes(), Clock: opts.Clock, Logger: natstest.Logger()}}
	if s.tune != nil {
		s.tune(&o)
	}
	app, err := telegram.New(r, o)
	if err != nil {
		return err
	}
	if _, err := app.Connect(ctx); err != nil {
		return err
	}
	defer s.Add(app)()
	done := make(chan error, 1)
	go func() { done <- app.Listen(ctx) }()
	err = app.Serve(ctx, opts)
	return errors.Join(err, <-done)
}

// keyOf returns the key of the ask whose buttons or outcome a message had. One that never had either
// is what a crash leaves, which nobody can answer.
func keyOf(m *faketelegram.Message) string {
	if len(m.Seen) == 0 {
		if _, id, ok := strings.Cut(append(m.First, faketelegram.Entity{})[0].URL, "?start="); ok && m.Edited {
			return "askbus-" + id[:24]
		}
		return ""
	}
	return "askbus-" + strings.Split(m.Seen[0], ":")[0]
}

func (s *surface) Posts() (posts []respondertest.Post) {
	for _, m := range s.fake.Messages() {
		if key := keyOf(&m); key != "" {
			posts = append(posts, respondertest.Post{Ref: fmt.Sprint(m.Chat, "#", m.ID), Key: key, Text: m.Shown(), Open: m.Open()})
		}
	}
	return posts
}

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	for _, m := range s.fake.Messages() {
		if fmt.Sprint(m.Chat, "#", m.ID) == p.Ref {
			told, _ := s.fake.Click(ctx, users[c.By.Principal], m, map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option])
			return told
		}
	}
	return ""
}

func (s *surface) Intercept(f func(respondertest.Call) error) {
	counted := chattest.Intercept(map[string]respondertest.Op{"sendMessage": respondertest.OpPost, "sendRichMessage": respondertest.OpPost, "editMessageText": respondertest.OpUpdate}, f)
	s.fake.Intercept(func(method, data string, done bool) (time.Duration, error) {
		key := ""
		if data != "" {
			key = "askbus-" + strings.Split(data, ":")[0]
		}
		return counted(method, key, done)
	})
}

// Write replies to the message. A person is told in the chat, as a reply.
func (s *surface) Write(_ context.Context, p respondertest.Post, words string, by ask.By) string {
	at, id, _ := strings.Cut(p.Ref, "#")
	in, _ := strconv.ParseInt(at, 10, 64)
	n, _ := strconv.Atoi(id)
	s.fake.Write(users[by.Principal], in, words, n)
	return ""
}

func (s *surface) Delete(p respondertest.Post) {
	at, id, _ := strings.Cut(p.Ref, "#")
	in, _ := strconv.ParseInt(at, 10, 64)
	n, _ := strconv.Atoi(id)
	s.fake.Delete(in, n)
}

// Said never has [respondertest.Everybody]: Telegram has no such mention.
func (s *surface) Said() (all []string) {
	for _, m := range s.fake.Messages() {
		words := m.Text
		for _, e := range m.Entities {
			if e.User != nil && e.User.ID == ann {
				words += " chat:ann"
			}
		}
		all = append(all, fmt.Sprint(m.Chat, " ", words))
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

func TestCasesOfAChat(t *testing.T) {
	t.Parallel()
	respondertest.RunChat(t, func(t *testing.T) respondertest.Chat {
		t.Helper()
		return &surface{t: t, fake: home(t)}
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return &surface{t: t, fake: home(t)}
	})
}
