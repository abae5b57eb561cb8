package identity

import (
	"fmt"
	"testing"

	"github.com/nats-io/jwt/v2"
)

// TestAVerifierCachesABoundedNumber checks that results of short-lived
// credentials are dropped.
func TestAVerifierCachesABoundedNumber(t *testing.T) {
	t.Parallel()
	v := NewVerifier(nil)
	v.account = &jwt.AccountClaims{}
	for i := range 3 * maxVerified {
		v.keep(v.account, fmt.Sprint("U", i), verified{})
	}
	if len(v.known) != maxVerified {
		t.Errorf("%d are held, want %d", len(v.known), maxVerified)
	}
}
