package identity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/natsd"
)

func TestTheListDropsExpiredCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := natsd.Init(dir); err != nil {
		t.Fatal(err)
	}
	user := identity.User{Name: "agent/acme/s1", Scope: "agent", Tags: map[string]string{"tenant": "acme", "session": "s1"}, Life: time.Hour}
	note, now := strings.Repeat("x", 32<<10), time.Now().Add(-80*time.Hour)
	for i := range 80 { // 2.5 MiB, each an hour after the one before
		if _, err := identity.HandOut(dir, user, note, now.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := identity.List(dir)
	if err != nil || len(list) > 50 || len(list) < 2 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}
