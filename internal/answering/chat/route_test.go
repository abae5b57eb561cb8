package chat_test

import (
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
)

// A user with two principals is always the same one of them, and for an ask that names one, that one.
func TestPrincipalOfAUser(t *testing.T) {
	t.Parallel()
	r := chat.Routes{People: map[string]string{"oidc:mei": "1", "os:mei": "1", "os:tom": "2"}}
	for range 20 {
		for _, c := range []struct {
			user     string
			audience []string
			want     string
		}{
			{"1", nil, "oidc:mei"}, {"1", []string{"os:mei"}, "os:mei"}, {"1", []string{"group:x", "oidc:mei"}, "oidc:mei"}, {"2", nil, "os:tom"}, {"3", nil, ""},
		} {
			if got := r.Principal(c.user, c.audience); got != c.want {
				t.Fatalf("user %s for %v is %q, want %q", c.user, c.audience, got, c.want)
			}
		}
	}
}
