package identity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// TestARevokedJWTCountsForNothing checks that a verifier that has accepted a
// JWT refuses it after it expired, was revoked, or its signing key was removed.
func TestARevokedJWTCountsForNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scopes := []identity.Scope{{Name: "responder", Account: identity.Bus, Permissions: jwt.Permissions{Pub: jwt.Permission{Allow: []string{"ansv1.>"}}}}}
	if _, err := identity.Ensure(dir, scopes); err != nil {
		t.Fatal(err)
	}
	issue := func(life time.Duration) (token, key string) {
		t.Helper()
		u := identity.User{Name: "responder/web", Scope: "responder", Tags: map[string]string{"type": "web"}, May: assertion.Set{Proven: []string{"oidc=oidc:*"}, Groups: []string{"TeamA"}}, Life: life}
		c, err := identity.HandOut(dir, u, "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if token, err = nkeys.ParseDecoratedJWT([]byte(c.Creds)); err != nil {
			t.Fatal(err)
		}
		return token, c.Key
	}
	account := identity.BusAccount(dir)
	held := identity.NewVerifier(account)
	good, key := issue(time.Hour)
	for range 2 { // the second time from the cache
		g, err := held.Verify(good, key, time.Now())
		if err != nil || g.Type != "web" || g.Scope != "responder" || len(g.Assertions.Proven) != 1 || g.Assertions.Groups[0] != "TeamA" {
			t.Fatalf("%+v, %v", g, err)
		}
	}
	if _, err := held.Verify(good, key, time.Now().Add(2*time.Hour)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("expired: %v", err)
	}
	other, otherKey := issue(time.Hour)
	if _, err := held.Verify(good, otherKey, time.Now()); err == nil {
		t.Error("another's key is taken")
	}
	if _, err := identity.Revoke(dir, []string{key}, time.Now()); err != nil {
		t.Fatal(err)
	}
	refused := func(v *identity.Verifier, says string) {
		t.Helper()
		if _, err := v.Verify(good, key, time.Now()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	refused(identity.NewVerifier(account), "revoked")
	for _, err := held.Verify(good, key, time.Now()); err == nil; _, err = held.Verify(good, key, time.Now()) {
		if t.Context().Err() != nil {
			t.Fatal("a verifier that held it takes it for ever")
		}
	}
	refused(held, "revoked")
	if !held.Revoked(key, time.Now().Add(-time.Minute)) || held.Revoked(key, time.Now().Add(time.Hour)) || held.Revoked(otherKey, time.Now().Add(-time.Minute)) || held.Revoked("", time.Time{}) {
		t.Error("Revoked does not agree")
	}
	if _, err := held.Verify(other, otherKey, time.Now()); err != nil {
		t.Errorf("the other one is refused, too: %v", err)
	}
	for _, drop := range []bool{false, true} {
		if err := identity.Rotate(dir, scopes, "responder", drop); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := identity.NewVerifier(account).Verify(other, otherKey, time.Now()); err == nil || !strings.Contains(err.Error(), "not signed") {
		t.Errorf("its signing key is gone: %v", err)
	}
	for name, v := range map[string]*identity.Verifier{
		"no account":        identity.NewVerifier(func() (string, error) { return "", nil }),
		"a damaged account": identity.NewVerifier(func() (string, error) { return "x", nil }),
	} {
		if _, err := v.Verify(other, otherKey, time.Now()); err == nil {
			t.Errorf("%s: it counts", name)
		}
	}
}

func TestAssertions(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"oidc", "=", "oidc=", "=oidc:x", "o*c=x", "oidc=*:x", "oidc=a b", "oidc=x\n"} {
		if (assertion.Set{Proven: []string{s}}).Validate() == nil {
			t.Errorf("%q is taken", s)
		}
	}
	for _, s := range []string{"", "*a", "a b"} {
		if (assertion.Set{Groups: []string{s}}).Validate() == nil {
			t.Errorf("group %q is taken", s)
		}
	}
	if (assertion.Set{Proven: []string{"oidc=" + strings.Repeat("x", 1024)}}).Validate() == nil {
		t.Error("more than fits is taken")
	}
	many := assertion.Set{Groups: strings.Split(strings.Repeat("g ", 33), " ")[:33]}
	if many.Validate() == nil {
		t.Error("33 groups are taken")
	}
	for s, exact := range map[string]bool{"oidc=oidc:mei": true, "oidc=oidc:*": false, "*=os:mei": false, "slack-*=slack:T/U": false} {
		if a := (assertion.Set{Proven: []string{s}}); a.Validate() != nil || (a.Exact() == nil) != exact {
			t.Errorf("%s: %v", s, a.Exact())
		}
	}
}
