package identity_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/identity"
	"github.com/nats-io/jwt/v2"
)

func scopes() []identity.Scope {
	return []identity.Scope{{Name: "agent", Account: identity.Bus, Permissions: jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"askv1.{{tag(tenant)}}.{{tag(session)}}.>"}}}}}
}

// Keys that were made before backups had an account get it, and nodes that share them get the same one.
func TestOlderKeysGetTheAccountOfBackups(t *testing.T) {
	t.Parallel()
	dir, node := t.TempDir(), t.TempDir()
	if _, err := identity.Ensure(dir, scopes()); err != nil {
		t.Fatal(err)
	}
	keys, err := identity.LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	delete(keys.Accounts, identity.Backup)
	data, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "auth", "keys.json"), data, 0o600), os.Remove(filepath.Join(dir, "auth", identity.Backup+".jwt")), identity.Share(dir, node)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, dir := range []string{dir, node, dir} {
		a, err := identity.Ensure(dir, scopes())
		if err != nil {
			t.Fatal(err)
		}
		claims, err := a.Claims(identity.Backup)
		if err != nil || len(claims.Imports) <= len(identity.Reading()) || len(claims.Exports) != 0 || claims.Limits.DiskStorage != 0 {
			t.Fatalf("%+v, %v", claims, err)
		}
		got = append(got, a.Keys[identity.Backup])
	}
	if got[0] == "" || got[1] != got[0] || got[2] != got[0] {
		t.Errorf("keys %q", got)
	}
}

func user(life time.Duration) identity.User {
	return identity.User{Name: "agent/acme/S1", Scope: "agent", Tags: map[string]string{"tenant": "acme", "session": "S1"}, Inbox: "_INBOX.a.acme.S1", Life: life}
}

func TestIssue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := identity.Ensure(dir, scopes()); err != nil {
		t.Fatal(err)
	}
	keys, err := identity.LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keys.Issue(user(time.Hour), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.ParseDecoratedJWT([]byte(c.Creds))
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil || strings.Join(claims.Tags, " ") != "tenant:acme session:S1 inbox:_INBOX.a.acme.S1" || !claims.HasEmptyPermissions() || claims.Expires != c.Expires.Unix() || claims.Subject != c.Key {
		t.Errorf("%+v, %v", claims, err)
	}
	for name, u := range map[string]identity.User{
		"no expiry":       user(0),
		"no such scope":   {Name: "x", Scope: "king", Life: time.Hour},
		"a star":          {Scope: "agent", Tags: map[string]string{"tenant": "*"}, Life: time.Hour},
		"everything":      {Scope: "agent", Tags: map[string]string{"tenant": ">"}, Life: time.Hour},
		"a dot":           {Scope: "agent", Tags: map[string]string{"tenant": "a.b"}, Life: time.Hour},
		"a template":      {Scope: "agent", Tags: map[string]string{"tenant": "{{name()}}"}, Life: time.Hour},
		"a blank":         {Scope: "agent", Tags: map[string]string{"tenant": "a b"}, Life: time.Hour},
		"an empty one":    {Scope: "agent", Tags: map[string]string{"tenant": ""}, Life: time.Hour},
		"another tag":     {Scope: "agent", Tags: map[string]string{"role": "king"}, Life: time.Hour},
		"a tag in a tag":  {Scope: "agent", Tags: map[string]string{"tenant": "a"}, Inbox: "x,tenant:b", Life: time.Hour},
		"an inbox of all": {Scope: "agent", Inbox: "_INBOX.>", Life: time.Hour},
	} {
		if _, err := keys.Issue(u, time.Now()); err == nil {
			t.Errorf("%s is signed", name)
		}
	}
}

func TestARevocationOfAnExpiredCredentialIsDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := identity.Ensure(dir, scopes()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	hand := func(life time.Duration) string {
		c, err := identity.HandOut(dir, user(life), "", began)
		if err != nil {
			t.Fatal(err)
		}
		return c.Key
	}
	short, long := hand(time.Hour), hand(48*time.Hour)
	revoked := func(at time.Time, key string) map[string]int64 {
		if _, err := identity.Revoke(dir, []string{key}, at); err != nil {
			t.Fatal(err)
		}
		a, err := identity.ReadAccounts(dir)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := a.Claims(identity.Bus)
		if err != nil {
			t.Fatal(err)
		}
		return claims.Revocations
	}
	if got := revoked(began, short); len(got) != 1 || got[short] == 0 {
		t.Errorf("%v", got)
	}
	if got := revoked(began.Add(2*time.Hour), long); len(got) != 1 || got[long] == 0 {
		t.Errorf("%v", got)
	}
	if _, err := identity.Revoke(dir, []string{"SUsecret"}, began); err == nil {
		t.Error("something that is no key was revoked")
	}
}

func TestConcurrentHandOuts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := identity.Ensure(dir, scopes()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := identity.HandOut(dir, user(time.Hour), "", time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	keys := map[string]bool{}
	list, err := identity.List(dir)
	for _, i := range list {
		keys[i.Key] = true
	}
	if err != nil || len(keys) != 20 {
		t.Errorf("%d are listed, %v", len(keys), err)
	}
}
