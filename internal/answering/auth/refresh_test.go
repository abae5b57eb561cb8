package auth_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

func provided(token string) auth.SignIn {
	in := signIn("")
	in.Subject, in.Session, in.Token, in.Until = "mei", "sid1", token, time.Now().Add(12*time.Hour)
	in.Access = ask.Access{{Tenants: []string{"acme"}}}
	return in
}

// An inbox of one provider leaves the sign-ins of another one alone: its provider does not know their tokens, and its messages
// are about other people.
func TestAProviderIsNotAskedAboutThePeopleOfAnother(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	asked := make(chan string, 2)
	at := func(issuer string) *auth.Sessions {
		return running(t, b, auth.Options{
			Key: []byte(strings.Repeat("k", 32)), Now: func() time.Time { return time.Now().Add(time.Hour) }, Cache: state.CacheOptions{FailAfter: 1000 * time.Hour},
			Issuer: issuer, Every: time.Second,
			Refresh: func(context.Context, string) (auth.Refreshed, error) {
				asked <- issuer
				return auth.Refreshed{}, errors.New("away")
			},
		})
	}
	company, contractors := at("https://company.example"), at("https://contractors.example")
	in := provided("a token")
	in.Issuer = "https://company.example"
	early := running(t, b, auth.Options{Key: []byte(strings.Repeat("k", 32)), Refresh: func(context.Context, string) (auth.Refreshed, error) { return auth.Refreshed{}, nil }, Every: time.Second})
	id, err := early.Begin(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*auth.Sessions{contractors, company} {
		natstest.Eventually(t, "each inbox knows the sign-in", func() bool {
			_, err := s.Find(t.Context(), id, false)
			return err == nil
		})
	}
	if by := <-asked; by != in.Issuer {
		t.Error("the token was sent to", by)
	}
	if n, err := contractors.EndOf(t.Context(), auth.Logout{Issuer: "https://contractors.example", Subject: in.Subject, Issued: time.Now()}); n != 0 || err != nil {
		t.Error("another provider ended", n, err)
	}
	if n, err := contractors.EndOf(t.Context(), auth.Logout{Issuer: in.Issuer, Subject: in.Subject, Issued: time.Now()}); n != 1 || err != nil {
		t.Error("its own provider ended", n, err)
	}
}

func TestTheProviderIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	var ahead atomic.Int64
	var asked atomic.Int32
	var say atomic.Pointer[func(token string) (auth.Refreshed, error)]
	opts := auth.Options{
		Key: []byte(strings.Repeat("k", 32)), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		Cache: state.CacheOptions{FailAfter: 1000 * time.Hour},
		Refresh: func(_ context.Context, token string) (auth.Refreshed, error) {
			asked.Add(1)
			return (*say.Load())(token)
		},
	}
	one, two := running(t, b, opts), running(t, b, opts)
	id, err := one.Begin(t.Context(), provided("secret-1"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := state.Open(b.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Sessions).List(t.Context())
	if err != nil || len(entries) != 1 || strings.Contains(string(entries[0].Value), "secret-1") {
		t.Fatalf("the token lies open: %s, %v", entries[0].Value, err)
	}
	find := func(s *auth.Sessions) (auth.Person, error) { return s.Find(t.Context(), id, false) }
	if p, err := find(two); err != nil || p.Access.Sees(p.By, ask.Key{Tenant: "other"}, nil) || !p.Access.Sees(p.By, ask.Key{Tenant: "acme"}, nil) {
		t.Fatalf("%+v, %v", p, err)
	}
	if asked.Load() != 0 {
		t.Error("it was asked at once")
	}
	groups := func(token string) (auth.Refreshed, error) {
		if token != "secret-1" {
			return auth.Refreshed{}, ask.Refuse(ask.CodeForbidden, "used already")
		}
		by := mei
		by.Groups = []string{"oncall"}
		return auth.Refreshed{Person: auth.Person{By: by, Access: ask.Access{{Tenants: []string{"other"}}}}, Token: "secret-2"}, nil
	}
	say.Store(&groups)
	ahead.Add(int64(11 * time.Minute))
	for _, s := range []*auth.Sessions{one, two} {
		natstest.Eventually(t, "the new groups hold at every replica", func() bool {
			p, err := find(s)
			return err == nil && p.By.Groups[0] == "oncall" && p.Access.Sees(p.By, ask.Key{Tenant: "other"}, nil)
		})
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times, by two replicas", n)
	}
	away := func(string) (auth.Refreshed, error) { return auth.Refreshed{}, errors.New("away") }
	say.Store(&away)
	ahead.Add(int64(11 * time.Minute))
	natstest.Eventually(t, "it is asked again", func() bool {
		_, err := find(one)
		return err == nil && asked.Load() == 2
	})
	ended, stop := two.Watch(id)
	defer stop()
	left := func(token string) (auth.Refreshed, error) {
		if token != "secret-2" {
			t.Errorf("asked with %q", token)
		}
		return auth.Refreshed{}, ask.Refuse(ask.CodeForbidden, "left the company")
	}
	say.Store(&left)
	ahead.Add(int64(2 * time.Minute))
	natstest.Eventually(t, "who left is signed out", func() bool {
		_, err := find(one)
		return errors.Is(err, ask.ErrNotFound)
	})
	<-ended
	votesEnd(t, b, mei.Principal)
}

// votesEnd waits until the person's votes count no more.
func votesEnd(t *testing.T, b *natstest.Bus, principal string) {
	t.Helper()
	revoked := state.Open(b.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Revoked)
	var e state.Entry
	natstest.Eventually(t, "the person's votes count no more", func() bool {
		var err error
		e, err = revoked.Get(t.Context(), state.RevokedKey("", principal))
		return err == nil
	})
	standIns, _ := subject.FindBucket(subject.BucketStandIns)
	if life := e.Expires.Sub(e.Written); life <= standIns.MaxTTL {
		t.Errorf("a stand-in lives for %s, and that the person was revoked is forgotten after %s", standIns.MaxTTL, life)
	}
}

func TestAProviderEndsSessions(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	one, two := running(t, b, auth.Options{}), running(t, b, auth.Options{})
	begin := func(in auth.SignIn) string {
		id, err := one.Begin(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first, other, local := provided(""), provided(""), signIn("")
	other.Session = "sid2"
	ids := []string{begin(first), begin(other), begin(local)}
	ended, stop := two.Watch(ids[0])
	defer stop()
	if n, err := two.EndOf(t.Context(), auth.Logout{Subject: "mei", Issued: time.Now().Add(-time.Hour)}); n != 0 || err != nil {
		t.Errorf("an old message ended %d sessions, %v", n, err)
	}
	if n, err := two.EndOf(t.Context(), auth.Logout{Subject: "mei", Session: "sid1", Issued: time.Now()}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	<-ended
	if n, err := two.EndOf(t.Context(), auth.Logout{Subject: "mei", Issued: time.Now()}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := two.EndOf(t.Context(), auth.Logout{}); err == nil {
		t.Error("nobody was signed out")
	}
	for i, want := range []bool{false, false, true} {
		natstest.Eventually(t, "every replica knows", func() bool {
			_, err := one.Find(t.Context(), ids[i], false)
			return (err == nil) == want
		})
	}
	short := provided("")
	short.Until = time.Now().Add(5 * time.Second)
	id := begin(short)
	natstest.Eventually(t, "it ends at its time", func() bool {
		_, err := one.Find(t.Context(), id, true)
		return errors.Is(err, ask.ErrNotFound)
	})
}
