package identity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/identity"
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
