package push_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/answering/push"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
	"github.com/nats-io/nats.go"
)

// surface is the phone of one person, whose push service is a fake.
type surface struct {
	t       *testing.T
	service *service

	mu      sync.Mutex
	notices map[string]card.Notice // on the lock screen, by tag: a later one replaces an earlier one
}

// Prepare subscribes the phone.
func (s *surface) Prepare(connect func(typ string) *nats.Conn) {
	store := push.NewStore(connect("web"), testKeys, push.Options{Hosts: []string{s.service.host()}})
	if err := store.Subscribe(s.t.Context(), tom, nil, "", "session", s.service.subscribe("phone")); err != nil {
		s.t.Fatal(err)
	}
}

func (s *surface) Type() string { return push.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	app, err := push.New(r.Conn(), testKeys, push.Options{Hosts: []string{s.service.host()}, Contact: "ops@example.com", Client: s.service.Client(), Logger: natstest.Logger()})
	if err != nil {
		return err
	}
	return app.Serve(ctx, opts)
}

// Posts reads the lock screen.
func (s *surface) Posts() (posts []respondertest.Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		select {
		case r := <-s.service.rung:
			s.notices[r.notice.Tag] = r.notice
			continue
		default:
		}
		break
	}
	for tag, n := range s.notices {
		posts = append(posts, respondertest.Post{Ref: tag, Key: keyOf(n), Text: n.Title + "\n" + n.Body + "\nhttps://inbox.example" + n.Path, Open: !n.Ended})
	}
	return posts
}

func keyOf(n card.Notice) string {
	part := append(strings.Split(n.Tag, "/"), "", "")
	k := ask.Key{Tenant: part[0], Session: part[1], ID: part[2]}
	return responder.PostKey(push.Type, k, n.Life)
}

func (s *surface) Click(context.Context, respondertest.Post, respondertest.Click) string {
	s.t.Error("a notice cannot be clicked here")
	return ""
}

func (s *surface) Intercept(f func(respondertest.Call) error) {
	s.service.mu.Lock()
	defer s.service.mu.Unlock()
	s.service.intercept = func(n card.Notice, done bool) error {
		c := respondertest.Call{Op: respondertest.OpPost, Key: keyOf(n), Done: done}
		if n.Ended {
			c.Op = respondertest.OpUpdate
		}
		return f(c)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const why = "a notice opens the inbox, and people answer there: see the suite of live screens in package web"
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		return &surface{t: t, service: newService(t), notices: map[string]card.Notice{}}
	}, respondertest.Without{
		"a double click is one answer":              why,
		"a late click is told who was first":        why,
		"a click that never arrived leaves it open": why,
		"votes are shown, moved and counted":        why,
		"many votes are few edits":                  "a notice says that people decide, not how far they are",
		"a person outside the audience":             "a notice goes only to people who may answer, which TestOnlyPeopleWhoMayAnswerAreNotified shows",
	})
}
