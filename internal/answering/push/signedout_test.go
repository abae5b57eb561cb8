package push_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Whoever is signed out by an operator or by the provider is not told of asks any more, at any of the browsers that were
// signed out, and at no other.
func TestWhoIsSignedOutIsNotNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica()
	sessions, err := auth.NewSessions(w.bus.Responder("web"), auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	browser := func(by ask.By, name, atProvider string) {
		t.Helper()
		id, err := sessions.Begin(t.Context(), auth.SignIn{Person: auth.Person{By: by}, Client: name, Subject: by.Name, Session: atProvider})
		if err == nil {
			err = w.store.Subscribe(t.Context(), by, nil, "", id, w.phone.subscribe(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	browser(mei, "desk", "sid-desk")
	browser(mei, "phone", "sid-phone")
	browser(mei, "lost", "sid-lost")
	browser(tom, "tom", "sid-tom")
	w.subscribe(tom, "toms-phone") // of a sign-in that ended by idling
	rung := func(want ...string) {
		t.Helper()
		w.ask(database())
		var got []string
		for _, one := range w.phone.next(len(want)) {
			got = append(got, one.browser)
		}
		if !slices.Equal(got, want) {
			t.Errorf("rung were %q, not %q", got, want)
		}
	}
	left := func(n int) {
		t.Helper()
		natstest.Eventually(t, "who was signed out has no subscription", func() bool {
			return w.apps[0].Subscribers(responder.Post{AskedAt: time.Now()}) == n
		})
	}
	left(5)
	rung("desk", "lost", "phone", "tom", "toms-phone")
	if n, err := sessions.EndOf(t.Context(), auth.Logout{Subject: "Mei", Session: "sid-desk", Issued: time.Now()}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	people := auth.NewPeople(w.bus.Connect(rights.Role{Name: rights.RoleOperator}))
	all, err := people.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := slices.IndexFunc(all, func(s auth.Session) bool { return s.Client == "lost" })
	if _, err := people.End(t.Context(), all[lost].ID); err != nil {
		t.Fatal(err)
	}
	left(3)
	rung("phone", "tom", "toms-phone")
	if _, err := people.End(t.Context(), tom.Principal); err != nil {
		t.Fatal(err)
	}
	if _, err := people.End(t.Context(), tom.Principal); !errors.Is(err, auth.ErrNobody) {
		t.Error(err)
	}
	left(1)
	rung("phone")
}
