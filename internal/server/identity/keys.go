package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/nats-io/nkeys"
)

// Keys are the secrets of a directory: the keys that sign users, and the secret
// from which cookies and routes are derived. The operator's key is stored
// separately.
type Keys struct {
	Secret   string             `json:"secret"`   // hex
	Accounts map[string]string  `json:"accounts"` // public keys; their names are the constants of this package
	System   string             `json:"system"`   // seed of the system account
	Signing  map[string]Signing `json:"signing"`  // by the name of a scope
}

// Signing is the signing keys of one scope.
type Signing struct {
	Account string   `json:"account"`
	Seeds   []string `json:"seeds"` // the first one signs; users of the others are still admitted
}

// LoadKeys reads the keys of a directory. The error is [ErrNone] if it has
// none.
func LoadKeys(dir string) (*Keys, error) {
	path := filepath.Join(dir, folder, keysFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNone, filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	var k Keys
	if err := json.Unmarshal(data, &k); err != nil || len(k.secret()) != 32 || k.Accounts[Ledger] == "" || k.Accounts[Bus] == "" {
		return nil, fmt.Errorf("the key file %s is damaged; restore it from a backup, or move %s away, make new keys with \"askbus ledger new-key --dir %s\" and hand out new credentials", path, filepath.Dir(path), dir)
	}
	return &k, nil
}

func (k *Keys) secret() []byte {
	b, err := hex.DecodeString(k.Secret)
	if err != nil {
		return nil
	}
	return b
}

// Derive returns the secret for one purpose.
func (k *Keys) Derive(purpose string) []byte {
	m := hmac.New(sha256.New, k.secret())
	m.Write([]byte("askbus/v1/" + purpose))
	return m.Sum(nil)
}

// newKeys makes keys without scopes, and the operator's key.
func newKeys() (k *Keys, operator nkeys.KeyPair, err error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	k = &Keys{Secret: hex.EncodeToString(secret), Accounts: map[string]string{}, Signing: map[string]Signing{}}
	for _, name := range Names() {
		kp, err := nkeys.CreateAccount()
		if err != nil {
			return nil, nil, err
		}
		if k.Accounts[name], err = kp.PublicKey(); err != nil {
			return nil, nil, err
		}
		if name != System {
			continue // it signs no users: they would have every permission
		}
		if k.System, err = seed(kp); err != nil {
			return nil, nil, err
		}
	}
	operator, err = nkeys.CreateOperator()
	return k, operator, err
}

// scopes creates the first key of new scopes, and drops removed scopes. It
// reports whether anything changed.
func (k *Keys) scopes(all []Scope) (changed bool, err error) {
	if changed, err = k.Add(all); err != nil {
		return false, err
	}
	known := map[string]bool{}
	for _, s := range all {
		known[s.Name] = true
	}
	for name := range k.Signing {
		if !known[name] {
			delete(k.Signing, name)
			changed = true
		}
	}
	return changed, nil
}

// Add creates the first key of scopes that are younger than these keys, and
// reports whether there were any. The key is derived, so that nodes with the same
// secret create the same one.
func (k *Keys) Add(scopes []Scope) (changed bool, err error) {
	for _, s := range scopes {
		if has, ok := k.Signing[s.Name]; ok && has.Account == s.Account && len(has.Seeds) > 0 {
			continue
		}
		kp, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, k.Derive("signing-key/"+s.Account+"/"+s.Name))
		if err != nil {
			return false, err
		}
		first, err := seed(kp)
		if err != nil {
			return false, err
		}
		k.Signing[s.Name], changed = Signing{Account: s.Account, Seeds: []string{first}}, true
	}
	return changed, nil
}

// backup adds the account of backups to keys that were made before there was
// one. Its key is derived, so that nodes with the same keys add the same one.
func (k *Keys) backup() error {
	kp, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, k.Derive("account/"+Backup+"/"+k.Accounts[Ledger]))
	if err == nil {
		k.Accounts[Backup], err = kp.PublicKey()
	}
	return err
}

func (k *Keys) save(dir string) error {
	data, err := json.MarshalIndent(k, "", "  ") //nolint:gosec // written to a file that only its owner can read
	if err != nil {
		return err
	}
	return file.Replace(filepath.Join(dir, keysFile), append(data, '\n'), 0o600)
}

func seed(kp nkeys.KeyPair) (string, error) {
	s, err := kp.Seed()
	return string(s), err
}
