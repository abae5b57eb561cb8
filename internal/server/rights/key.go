package rights

import (
	"fmt"
	"path/filepath"

	"github.com/askbus/askbus/internal/server/identity"
)

// ShareKey copies the keys of directory from to another directory, creating
// them if they are missing.
func ShareKey(from, to string) error {
	if _, err := LoadKey(from); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	if err := identity.Share(from, to); err != nil {
		return err
	}
	return shareLedgerNote(from, to)
}

// Key is the secret of a directory, from which sign-in cookies and the routes
// between cluster nodes are derived.
type Key struct{ keys *identity.Keys }

// Derive returns the secret for one purpose.
func (k Key) Derive(purpose string) []byte { return k.keys.Derive(purpose) }

// LoadKey reads the key of a directory, creating all keys on first use.
func LoadKey(dir string) (Key, error) {
	if !identity.Exists(dir) {
		if _, err := EnsureKeys(dir, false); err != nil {
			return Key{}, err
		}
	}
	keys, err := identity.LoadKeys(dir)
	return Key{keys}, err
}

// HasKeys reports whether a directory has the keys to make credentials.
func HasKeys(dir string) bool { return identity.Exists(dir) }

// EnsureKeys reads the accounts that a server needs, creating the keys on first
// use. A store without its keys is an error: new ones would invalidate every
// credential.
func EnsureKeys(dir string, admin bool) (*identity.Accounts, error) {
	if err := lostKeys(dir); err != nil {
		return nil, err
	}
	return identity.Ensure(dir, Scopes(admin))
}

// lostKeys returns the error for a store without keys.
func lostKeys(dir string) error {
	if !identity.Exists(dir) && len(StoreAccounts(dir)) > 0 {
		return fmt.Errorf("the store in %s has lost its keys: every credential comes from %s; restore that directory from a backup (in a cluster: from another node), or make new keys with \"askbus ledger new-key --dir %s\" and hand out new credentials; the asks stay as they are", dir, filepath.Join(dir, "auth"), dir)
	}
	return nil
}

// AccountsDir returns the directory with one directory for each account that
// has streams.
func AccountsDir(dir string) string { return filepath.Join(dir, StoreDir, "jetstream") }

// StoreAccounts returns the accounts whose streams a store holds.
func StoreAccounts(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(AccountsDir(dir), "*", "streams")) // the pattern is valid
	var names []string
	for _, path := range found {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	return names
}

// StoreDir is the directory of the store, below that of the server.
const StoreDir = "nats"
