package auth_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

const verifier = "VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV"

// terminal signs a terminal in from a session.
func terminal(t *testing.T, s *auth.Sessions, session string) string {
	t.Helper()
	code, err := s.LetIn(t.Context(), session, auth.Challenge(verifier), "terminal mei@laptop")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := s.Redeem(t.Context(), code, verifier)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func begin(t *testing.T, s *auth.Sessions) string {
	t.Helper()
	id, err := s.Begin(t.Context(), signIn("browser"))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestATerminalIsItsPersonUntilTheSessionEnds(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	one, two := running(t, b, auth.Options{}), running(t, b, auth.Options{})
	issuer := auth.NewTerminals(b.Connect(rights.Role{Name: rights.RoleIssuer}), time.Now, natstest.Logger())
	run(t, issuer.Run)
	id := begin(t, one)
	secret := terminal(t, two, id)
	name, p, err := one.Terminal(t.Context(), secret)
	if err != nil || p.By.Principal != mei.Principal || p.By.Groups[0] != "platform" {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err := issuer.Person(t.Context(), "", name); err != nil || p.By.Principal != mei.Principal {
		t.Errorf("to the issuer: %+v, %v", p, err)
	}
	if _, err := one.Find(t.Context(), secret, true); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a terminal's secret opens a browser's session: %v", err)
	}
	if _, _, err := one.Terminal(t.Context(), id); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a browser's session opens a terminal: %v", err)
	}
	list, err := auth.NewPeople(b.Connect(rights.Role{Name: rights.RoleOperator})).List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("%d are signed in, %v", len(list), err)
	}
	// The issuer may have reported the end of the code already.
	if err := one.End(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the issuer knows that it has ended", func() bool {
		_, err := issuer.Person(t.Context(), "", name)
		return errors.Is(err, ask.ErrNotFound)
	})
	<-issuer.Ended()
	if _, _, err := two.Terminal(t.Context(), secret); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("the terminal of a session that has ended: %v", err)
	}
}

func TestACodeCountsOnce(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	var ahead atomic.Int64
	opts := auth.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
	s := []*auth.Sessions{running(t, b, opts), running(t, b, opts), running(t, b, opts)}
	id := begin(t, s[0])
	code, err := s[0].LetIn(t.Context(), id, auth.Challenge(verifier), "x")
	if err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var all sync.WaitGroup
	for n := range 12 {
		all.Go(func() {
			secret, err := s[n%len(s)].Redeem(t.Context(), code, verifier)
			switch {
			case err == nil && strings.HasPrefix(secret, auth.TerminalSecret):
				won.Add(1)
			case !errors.Is(err, ask.ErrForbidden):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d terminals of one code", won.Load())
	}
	late, err := s[0].LetIn(t.Context(), id, auth.Challenge(verifier), "x")
	if err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(auth.CodeLife))
	if _, err := s[1].Redeem(t.Context(), late, verifier); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("a code of two minutes ago: %v", err)
	}
}

func TestTerminalsOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	s := running(t, b, auth.Options{})
	id := begin(t, s)
	full := func() bool {
		_, err := s.LetIn(t.Context(), id, auth.Challenge(verifier), "x")
		if err != nil && !errors.Is(err, ask.ErrQuota) {
			t.Fatal(err)
		}
		return err != nil
	}
	n := 0
	for n < 200 && !full() { // this replica learns of its own writes with a delay
		n++
	}
	if n == 200 {
		t.Fatal("200 terminals are let in")
	}
}

// Not parallel: goroutines are those of the whole process.
func TestATerminalThatComesAndGoesLeavesNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{Memory: true})
	s := running(t, b, auth.Options{})
	id := begin(t, s)
	comeAndGo := func() error {
		code, err := s.LetIn(t.Context(), id, auth.Challenge(verifier), "x")
		if errors.Is(err, ask.ErrQuota) {
			return nil // refused: earlier ones are not removed yet
		}
		if err != nil {
			return err
		}
		secret, err := s.Redeem(t.Context(), code, verifier)
		if err != nil {
			return err
		}
		return s.EndTerminal(t.Context(), secret)
	}
	b.LeavesNothing(t, func(int) error {
		err := comeAndGo()
		if errors.Is(err, ask.ErrUnavailable) { // a busy machine did not read the sessions again for a minute
			return &natstest.UnavailableError{After: time.Second, Err: err}
		}
		return err
	})
}

func TestTheIssuerBelievesOnlyTerminals(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	s := running(t, b, auth.Options{})
	issuer := auth.NewTerminals(b.Connect(rights.Role{Name: rights.RoleIssuer}), time.Now, natstest.Logger())
	run(t, issuer.Run)
	id := begin(t, s)
	bucket := state.Open(b.Responder("web"), state.Responder("web", ""), state.Sessions)
	list, err := bucket.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if _, err := s.LetIn(t.Context(), id, auth.Challenge(verifier), "x"); err != nil {
		t.Fatal(err)
	}
	all, err := bucket.List(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, e := range all { // the browser's session, and a code
		if p, err := issuer.Person(t.Context(), "", e.Key.Name); !errors.Is(err, ask.ErrNotFound) {
			t.Errorf("%+v, %v", p, err)
		}
	}
	forged := map[string]any{"principal": "oidc:head", "proof": "oidc", "created": time.Now(), "access": nil, "parent": list[0].Key.Name}
	if _, err := bucket.Put(t.Context(), state.Key{Name: "forged"}, forged, time.Minute); err != nil {
		t.Fatal(err)
	}
	if p, err := issuer.Person(t.Context(), "", "forged"); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a terminal of somebody else's session: %+v, %v", p, err)
	}
}

func TestTenantOfATerminal(t *testing.T) {
	t.Parallel()
	whole := func(tenants ...string) ask.Access { return ask.Access{{Tenants: tenants}} }
	for _, c := range []struct {
		name   string
		access ask.Access
		wanted string
		want   string
		ok     bool
	}{
		{"everything", nil, "", "", true},
		{"everything, narrowed", nil, "acme", "acme", true},
		{"nothing", ask.Access{}, "acme", "", false},
		{"every tenant by a rule", whole("*"), "", "", true},
		{"the only tenant", whole("acme"), "", "acme", true},
		{"one of several", whole("acme", "beta"), "beta", "beta", true},
		{"several, and none named", whole("acme", "beta"), "", "", false},
		{"a tenant beyond", whole("acme"), "beta", "", false},
		{"a pattern, and none named", whole("team-*"), "", "", false},
		{"a pattern, and one of it", whole("team-*"), "team-a", "team-a", true},
		{"some sessions", ask.Access{{Tenants: []string{"acme"}, Sessions: []string{"deploy-*"}}}, "", "", false},
		{"some audiences", ask.Access{{Tenants: []string{"acme"}, Audiences: []string{"group:all"}}}, "", "", false},
		{"to read", ask.Access{{Tenants: []string{"acme"}, ReadOnly: true}}, "acme", "", false},
		{"whole there, to read elsewhere", ask.Access{{Tenants: []string{"acme"}}, {Tenants: []string{"*"}, ReadOnly: true}}, "", "acme", true},
	} {
		got, err := auth.TerminalTenant(c.access, c.wanted)
		if got != c.want || (err == nil) != c.ok || err != nil && !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
