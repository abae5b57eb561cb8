package email

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"encoding/base64"
)

// ref returns the reference of an address for a receipt. Agents can read receipts, and must not learn to whom their asks
// are mailed, so it is encrypted, with the address's signature as its nonce: the same on every replica.
func (s *App) ref(address string) string {
	nonce := s.sign("ref", address)
	return base64.RawURLEncoding.EncodeToString(append(nonce, s.crypt(nonce, []byte(address))...))
}

// addressOf returns the address of a reference that ref returned.
func (s *App) addressOf(ref string) (address string, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(ref)
	if err != nil || len(data) <= aes.BlockSize {
		return "", false
	}
	address = string(s.crypt(data[:aes.BlockSize], data[aes.BlockSize:]))
	return address, hmac.Equal(data[:aes.BlockSize], s.sign("ref", address))
}

func (s *App) crypt(nonce, data []byte) []byte {
	block, err := aes.NewCipher(s.sign("encrypt", ""))
	if err != nil {
		panic(err) // the key has 16 bytes
	}
	out := make([]byte, len(data))
	cipher.NewCTR(block, nonce).XORKeyStream(out, data)
	return out
}
