package exchange

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nkeys"
)

// sealed is a credential that only the holder of one key can read: every
// gateway receives the replies to all gateways, every web inbox those to all
// web inboxes, and a credential contains a private key.
type sealed struct {
	By   string `json:"by"`   // the curve key that encrypted it
	Data []byte `json:"data"` // base64 in JSON
}

// sealable refuses anything but a public curve key.
func sealable(to string) error {
	if !nkeys.IsValidPublicCurveKey(to) {
		return ask.Refuse(ask.CodeInvalid, "the request has no key to encrypt the credential to; update the gateway or the web inbox")
	}
	return nil
}

// seal encrypts data to a curve key (X25519). The encrypting key is used once.
func seal(data []byte, to string) ([]byte, error) {
	own, err := nkeys.CreateCurveKeys()
	if err != nil {
		return nil, err
	}
	defer own.Wipe()
	s := sealed{}
	if s.By, err = own.PublicKey(); err != nil {
		return nil, err
	}
	if s.Data, err = own.Seal(data, to); err != nil {
		return nil, fmt.Errorf("the key to encrypt to is damaged: %w", err)
	}
	return json.Marshal(s)
}

// unseal decrypts data that [seal] encrypted to own.
func unseal(data []byte, own nkeys.KeyPair) ([]byte, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil || s.By == "" {
		return nil, errors.New("the issuer's reply is not encrypted; its version differs from this gateway's")
	}
	opened, err := own.Open(s.Data, s.By)
	if err != nil {
		return nil, fmt.Errorf("decrypt the issuer's reply: %w", err)
	}
	return opened, nil
}
