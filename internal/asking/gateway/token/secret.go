package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Prefix is how tokens of ours begin.
const Prefix = "askb_"

const (
	idBytes     = 8
	secretBytes = 32
)

// New returns a token's public part, and the token itself, which is shown once.
func New(t Token) (made Token, secret string, err error) {
	if t.Role == Operator && len(t.Asker) == 0 && t.Principal != "" {
		t.Asker = []string{t.Principal} // the person who answers with it asks with it
	}
	if err := t.Validate(); err != nil {
		return Token{}, "", err
	}
	t.ID = random(idBytes)
	secret = random(secretBytes)
	t.Hash = digest(secret)
	return t, Prefix + t.ID + "_" + secret, nil
}

// random returns n random bytes in base 62, with a fixed length.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	text := new(big.Int).SetBytes(b).Text(62)
	length := len(new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*n)), big.NewInt(1)).Text(62))
	return strings.Repeat("0", length-len(text)) + text
}

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func split(s string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(s, Prefix)
	if !ok || len(rest) > 256 {
		return "", "", false
	}
	id, secret, ok = strings.Cut(rest, "_")
	return id, secret, ok && id != "" && secret != ""
}

// Claimed returns the id in a token without verifying it, or "" if s is not in the format of a
// token.
func Claimed(s string) string {
	id, _, ok := split(s)
	if !ok || len(id) > 2*idBytes || !ask.ValidToken(id) {
		return ""
	}
	return id
}

// proves compares the secret in constant time.
func (t *Token) proves(secret string) bool {
	return subtle.ConstantTimeCompare([]byte(t.Hash), []byte(digest(secret))) == 1
}
