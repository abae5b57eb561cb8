package natsd

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Key is the secret of a directory. Every credential of its server is derived
// from it, so that it can be given to any agent without storing it.
type Key []byte

const keyFile = "key"

// LoadKey reads the key of a directory, making it on first use.
func LoadKey(dir string) (Key, error) {
	path := filepath.Join(dir, keyFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return makeKey(dir, path)
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("key file %s is damaged; restore it, or remove it and hand out new credentials", path)
	}
	return key, nil
}

func makeKey(dir, path string) (Key, error) {
	key := make(Key, 32)
	_, _ = rand.Read(key) // never fails
	tmp, err := os.CreateTemp(dir, keyFile+".*")
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // gone when linked
	if _, err := tmp.WriteString(hex.EncodeToString(key) + "\n"); err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	// Link, not rename: whoever comes second takes the key that is there.
	if err := os.Link(tmp.Name(), path); errors.Is(err, os.ErrExist) {
		return LoadKey(dir)
	} else if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return key, nil
}

// Derive makes the secret for one purpose.
func (k Key) Derive(purpose string) []byte {
	m := hmac.New(sha256.New, k)
	m.Write([]byte("askbus/v1/" + purpose))
	return m.Sum(nil)
}

// Password is the password of a user.
func (k Key) Password(user string) string {
	return base64.RawURLEncoding.EncodeToString(k.Derive("nats-user/" + user))
}

// Credential is what a client needs to connect.
type Credential struct {
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    string `json:"password"`
	InboxPrefix string `json:"inbox_prefix"`
}

// Credential makes the credential of a role.
func (k Key) Credential(url string, r Role) (Credential, error) {
	if err := r.Validate(); err != nil {
		return Credential{}, err
	}
	return Credential{URL: url, User: r.User(), Password: k.Password(r.User()), InboxPrefix: r.InboxPrefix()}, nil
}
