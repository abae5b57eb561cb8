package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/identity"
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
