package ask

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxToken is the maximum length of a token, in bytes.
const MaxToken = 64

// ValidToken reports whether s can be a subject token: [A-Za-z0-9_-]{1,64}.
func ValidToken(s string) bool {
	if s == "" || len(s) > MaxToken {
		return false
	}
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return true
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// Token maps a foreign id to a token: the id itself if it is valid, otherwise a
// stable slug plus 8 hex digits of its SHA-256. The caller keeps the original.
func Token(foreign string) string {
	if ValidToken(foreign) {
		return foreign
	}
	sum := sha256.Sum256([]byte(foreign))
	digits := hex.EncodeToString(sum[:4])
	var slug strings.Builder
	for i := 0; i < len(foreign) && slug.Len() < MaxToken-9; i++ {
		c := foreign[i]
		switch {
		case tokenByte(c):
			slug.WriteByte(c)
		case slug.Len() > 0 && !strings.HasSuffix(slug.String(), "-"):
			slug.WriteByte('-')
		}
	}
	name := strings.Trim(slug.String(), "-")
	if name == "" {
		return digits
	}
	return name + "-" + digits
}
