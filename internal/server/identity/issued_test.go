package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/identity"
	"github.com/nats-io/jwt/v2"
)

// A long note must not hide the credentials after it, which could then not be
// revoked.
func TestALongNoteHidesNoCredential(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := identity.Ensure(dir, scopes()); err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{strings.Repeat("x", 100_000), "after"} {
		if _, err := identity.HandOut(dir, user(time.Hour), note, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := identity.List(dir)
	if err != nil || len(all) != 2 || all[1].Note != "after" {
		t.Errorf("%d credentials are listed, %v", len(all), err)
	}
}

// A process that was killed while it wrote an entry must not hide the next one.
func TestAPartialEntryHidesNoOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := identity.Ensure(dir, scopes()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "auth", "issued.jsonl"), []byte(`{"key":"UABC","na`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{"first", "second"} {
		if _, err := identity.HandOut(dir, user(time.Hour), note, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := identity.List(dir)
	if err != nil || len(all) != 2 || all[0].Note != "first" {
		t.Errorf("%d credentials are listed, %v", len(all), err)
	}
}

// A credential is revoked in its own account, whichever that is.
func TestEveryAccountRevokes(t *testing.T) {
	t.Parallel()
	for _, account := range identity.Names() {
		dir := t.TempDir()
		if _, err := identity.Ensure(dir, []identity.Scope{{Name: "one", Account: account}}); err != nil {
			t.Fatal(err)
		}
		c, err := identity.HandOut(dir, identity.User{Name: "one", Scope: "one", Life: time.Hour}, "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := identity.Revoke(dir, []string{c.Key}, time.Now()); err != nil {
			t.Fatal(err)
		}
		a, err := identity.ReadAccounts(dir)
		if err != nil {
			t.Fatal(err)
		}
		if claims, err := a.Claims(account); err != nil || !claims.IsClaimRevoked(&jwt.UserClaims{ClaimsData: jwt.ClaimsData{Subject: c.Key, IssuedAt: 1}}) {
			t.Errorf("%s: not revoked, %v", account, err)
		}
	}
}

// A copy of keys that ends in the middle, or is of an old state, takes back no revocation.
func TestACopyOfTheKeysTakesBackNoRevocation(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	if _, err := identity.Ensure(from, scopes()); err != nil {
		t.Fatal(err)
	}
	c, err := identity.HandOut(from, user(time.Hour), "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := identity.Share(from, to); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Revoke(to, []string{c.Key}, time.Now()); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(from, "auth", "zz") // cannot be copied, after everything else
	if err := os.Mkdir(last, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := identity.Share(from, to); err == nil {
		t.Fatal("a directory was copied")
	}
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if err := identity.Share(from, to); err != nil {
		t.Fatal(err)
	}
	list, err := identity.List(to)
	if err != nil || len(list) != 1 || list[0].Revoked == nil {
		t.Errorf("%+v, %v", list, err)
	}
	a, err := identity.ReadAccounts(to)
	if err != nil {
		t.Fatal(err)
	}
	if claims, err := a.Claims(identity.Bus); err != nil || !claims.IsClaimRevoked(&jwt.UserClaims{ClaimsData: jwt.ClaimsData{Subject: c.Key, IssuedAt: 1}}) {
		t.Errorf("the account does not have it, %v", err)
	}

	// Without the operator's key it cannot be signed, and is not dropped in silence.
	for _, dir := range []string{from, to} {
		if err := os.Remove(filepath.Join(dir, "auth", "operator.nk")); err != nil {
			t.Fatal(err)
		}
	}
	if err := identity.Share(from, to); err == nil || !strings.Contains(err.Error(), "operator.nk") {
		t.Errorf("%v", err)
	}
}
