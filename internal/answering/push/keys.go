package push

import (
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// Keys are the key pair that identifies this bus to push services (VAPID). It is derived from the
// key of login cookies, which all replicas share.
type Keys struct {
	Public  string // as browsers are given it when they subscribe
	private string
}

// DeriveKeys derives the pair from a key of at least 32 bytes.
func DeriveKeys(secret []byte) (Keys, error) {
	if len(secret) < 32 {
		return Keys{}, errors.New("push: the key has fewer than 32 bytes")
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("askbus web push v1 \x00"))
	key, err := ecdh.P256().NewPrivateKey(mac.Sum(nil))
	if err != nil { // of one secret in 2^32
		return Keys{}, fmt.Errorf("push: derive a key: %w; use another secret", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return Keys{Public: encode(key.PublicKey().Bytes()), private: encode(key.Bytes())}, nil
}
