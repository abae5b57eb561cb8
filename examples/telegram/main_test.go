package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/askbustest"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	tom, ann, mei = 101, 102, 103
	group         = -100500
)

// surface is the example with a fake of Telegram.
type surface struct {
	t    *testing.T
	fake *faketelegram.Server
	bus  atomic.Pointer[responder.Responder] // of the newest replica
}

func newSurface(t *testing.T) *surface {
	t.Helper()
	s := &surface{t: t, fake: faketelegram.Start()}
	t.Cleanup(s.fake.Close)
	for id, name := range map[int64]string{tom: "Tom", ann: "Ann", mei: "Mei"} {
		s.fake.AddUser(faketelegram.User{ID: id, First: name}, group)
	}
	return s
}

func (s *surface) Type() string { return "telegram" }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) (err error) {
	s.bus.Store(r)
	b := &bot{api: s.fake.URL() + "/bot" + faketelegram.Token + "/", chat: strconv.Itoa(group), bus: r}
	b.people = map[string]ask.By{
		strconv.Itoa(tom): {Principal: "chat:tom", Name: "Tom"},
		strconv.Itoa(ann): {Principal: "chat:ann", Name: "Ann", Groups: []string{"platform"}},
	}
	if b.steps, err = lru.New[string, card.Steps](100); err != nil {
		return err
	}
	if b.posts, err = responder.NewServer(r, b, opts); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() { defer close(done); b.listen(ctx) }()
	err = b.posts.Run(ctx)
	<-done
	return err
}

// Posts lists the messages that had a button or show an outcome. What a crash leaves without either is
// nobody's post.
func (s *surface) Posts() (posts []respondertest.Post) {
	for _, m := range s.fake.Messages() {
		key := ""
		if len(m.Seen) > 0 {
			key, _, _ = strings.Cut(m.Seen[0], "/")
		} else if m.Edited {
			key = s.receipt(strconv.Itoa(m.ID))
		}
		if key != "" {
			posts = append(posts, respondertest.Post{Ref: strconv.Itoa(m.ID), Key: key, Text: m.Shown(), Open: m.Open()})
		}
	}
	return posts
}

// receipt returns the key of the receipt that names a message.
func (s *surface) receipt(ref string) string {
	for rec, err := range s.bus.Load().All(s.t.Context(), responder.Query{}) {
		if err != nil {
			s.t.Error(err)
			break
		}
		for _, r := range rec.Receipts {
			if len(r.Places) > 0 && r.Places[0].Ref == ref {
				return responder.PostKey(s.Type(), rec.Ask.Key(), rec.Life)
			}
		}
	}
	return ""
}

func (s *surface) Click(ctx context.Context, p respondertest.Post, c respondertest.Click) string {
	user := map[string]int64{"chat:tom": tom, "chat:ann": ann}[c.By.Principal]
	return s.press(ctx, user, p.Ref, map[string]string{"pg": "PostgreSQL", "lite": "SQLite"}[c.Option])
}

func (s *surface) press(ctx context.Context, user int64, ref, label string) string {
	ctx, cancel := context.WithTimeout(ctx, waittest.Limit)
	defer cancel()
	for _, m := range s.fake.Messages() {
		if strconv.Itoa(m.ID) == ref {
			told, ok := s.fake.Click(ctx, user, m, label)
			if !ok {
				s.t.Errorf("the press of %q was not answered", label)
			}
			return told
		}
	}
	s.t.Errorf("no message %s", ref)
	return ""
}

func (s *surface) Intercept(f func(respondertest.Call) error) {
	ops := map[string]respondertest.Op{"sendMessage": respondertest.OpPost, "editMessageText": respondertest.OpUpdate}
	s.fake.Intercept(func(method, data string, done bool) (time.Duration, error) {
		op, ok := ops[method]
		if !ok || f == nil {
			return 0, nil
		}
		key, _, _ := strings.Cut(data, "/")
		err := f(respondertest.Call{Op: op, Key: key, Done: done})
		if retry, ok := errors.AsType[*responder.RetryError](err); ok {
			return retry.After, err
		}
		return 0, err
	})
}

// The suite of every surface that posts.
func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return newSurface(t)
	}, respondertest.Without{
		"votes are shown, moved and counted": "it draws no votes, which takes a responder.Refresher: see the chats of askbus",
		"many votes are few edits":           "the same",
	})
}

// Several questions come one after the other: a choice, several options, and words by a reply. Another
// person begins with the first question. A late press is told who was first.
func TestSeveralQuestions(t *testing.T) {
	t.Parallel()
	s, bus := newSurface(t), askbustest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, bus.Responder("telegram"), responder.ServeOptions{}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	session := bus.Session("acme", "s1")
	_, err := session.Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
		{ID: "env", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}}},
		{ID: "name", Kind: ask.KindText, Text: "Which name?"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(step, label string) (m faketelegram.Message) {
		t.Helper()
		natstest.Eventually(t, fmt.Sprintf("step %s with a button %q", step, label), func() bool {
			for _, m = range s.fake.Messages() {
				if m.Open() && strings.Contains(m.Text, step) && strings.Contains(m.Shown(), "["+label+"]") {
					return true
				}
			}
			return false
		})
		return m
	}
	first := at("1 of 3", "SQLite")
	ref := strconv.Itoa(first.ID)
	s.press(ctx, mei, ref, "SQLite")
	at("2 of 3", "☐ Prod")
	s.press(ctx, tom, ref, "☐ Prod") // he has not answered the first one
	at("1 of 3", "SQLite")
	s.press(ctx, mei, ref, "SQLite") // nor is hers lost
	at("2 of 3", "☐ Prod")
	s.press(ctx, mei, ref, "☐ Prod")
	at("2 of 3", "☑ Prod")
	s.press(ctx, mei, ref, "Send")
	at("3 of 3", "Decline")
	s.fake.Write(mei, group, "orders", first.ID) // talk
	s.fake.Write(mei, group, "answer: orders", first.ID)
	o, err := session.Wait(ctx, "a1")
	if err != nil {
		t.Fatal(err)
	}
	if o.Answer("db").Selected[0] != "lite" || o.Answer("env").Selected[0] != "prod" || o.Answer("name").Text != "orders" || o.By.Name != "Mei" || o.By.Principal != "telegram:103" {
		t.Errorf("the outcome is %+v by %+v", o.Answers, o.By)
	}
	natstest.Eventually(t, "the outcome is shown", func() bool {
		m := s.fake.Messages()[first.ID-1]
		return !m.Open() && strings.Contains(m.Text, "Mei") && strings.Contains(m.Text, "SQLite")
	})
	late, _ := s.fake.Click(ctx, tom, first, "SQLite")
	if !strings.Contains(late, "Mei") {
		t.Errorf("a late press is told %q", late)
	}
}

// What the page of the kit promises: a whole surface in one file of at most 200 lines.
func TestItIsShort(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(body), "\n"); n > 200 {
		t.Errorf("main.go has %d lines", n)
	}
}
