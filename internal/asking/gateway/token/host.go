package token

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// hostPrincipal is the prefix of a host token's principal: the operating system user that runs the
// host.
const hostPrincipal = "os:"

// person reports whether tokens of this role answer for people.
func (r Role) person() bool { return r == Screen || r == Responder || r == Operator }

// validatePerson rejects a person's principal or groups for other roles.
func (t *Token) validatePerson() error {
	switch {
	case t.Role.person():
		return nil
	case len(t.Groups) > 0:
		return fmt.Errorf("a token of the role %s cannot have groups; use the role screen or responder", t.Role)
	case t.Role == Agent && t.Principal != "":
		return fmt.Errorf("a token of the role agent never answers and cannot have a principal; to answer as %.80s use the role screen or responder", t.Principal)
	case t.Role == Host && (!strings.HasPrefix(t.Principal, hostPrincipal) || t.Principal == hostPrincipal):
		return fmt.Errorf("the principal of a host's token is the user who runs the host, such as %smei; %.80q is not", hostPrincipal, t.Principal)
	}
	return nil
}

// HostBy returns the principal of the answers that a host's token reports: the user who runs the
// host, proven only by the host's dialog.
func (t *Token) HostBy() ask.By {
	name := cmp.Or(t.Name, strings.TrimPrefix(t.Principal, hostPrincipal))
	return ask.By{Principal: t.Principal, Name: name, Proof: ask.ProofHostDialog}
}

// Mark proves that the holder of this token asked k. It is stored in the ask's metadata
// ([ask.MetadataHost]), so that every replica can verify it. An agent cannot forge it: the key is
// the token's hash.
func (t *Token) Mark(k ask.Key) string {
	mac := hmac.New(sha256.New, []byte(t.Hash))
	mac.Write([]byte("askbus host asked\x00" + k.String()))
	return t.ID + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
