package natsd

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/atomicfile"
	"github.com/askbus/askbus/internal/identity"
)

// Key is the secret of a directory, from which sign-in cookies and the routes
// between cluster nodes are derived.
type Key struct{ keys *identity.Keys }

// Derive returns the secret for one purpose.
func (k Key) Derive(purpose string) []byte { return k.keys.Derive(purpose) }

// LoadKey reads the key of a directory, creating all keys on first use.
func LoadKey(dir string) (Key, error) {
	if !identity.Exists(dir) {
		if _, err := ensureKeys(dir, false); err != nil {
			return Key{}, err
		}
	}
	keys, err := identity.LoadKeys(dir)
	return Key{keys}, err
}

// HasKeys reports whether a directory has the keys to make credentials.
func HasKeys(dir string) bool { return identity.Exists(dir) }

// ensureKeys reads the accounts that a server needs, creating the keys on first
// use. A store without its keys is an error: new ones would invalidate every
// credential.
func ensureKeys(dir string, admin bool) (*identity.Accounts, error) {
	if err := lostKeys(dir); err != nil {
		return nil, err
	}
	return identity.Ensure(dir, scopes(admin))
}

// lostKeys returns the error for a store without keys.
func lostKeys(dir string) error {
	if !identity.Exists(dir) {
		switch accounts := storeAccounts(dir); {
		case len(accounts) == 0:
		case oldKey(dir) != nil:
			return fmt.Errorf("the store in %s was written by an askbus whose credentials were passwords; stop every askbus there, run \"askbus auth init --dir %s\" once, and hand out new credentials with \"askbus auth\"; the asks stay as they are", dir, dir)
		default:
			return fmt.Errorf("the store in %s has lost its keys: every credential comes from %s; restore that directory from a backup (in a cluster: from another node), or make new keys with \"askbus ledger new-key --dir %s\" and hand out new credentials; the asks stay as they are", dir, filepath.Join(dir, "auth"), dir)
		}
	}
	return nil
}

// oldKeyFile is where earlier versions kept the secret of a directory.
const oldKeyFile = "key"

// oldKey returns the secret of an earlier version; nil if there is none.
func oldKey(dir string) []byte {
	data, err := os.ReadFile(filepath.Join(dir, oldKeyFile))
	if err != nil {
		return nil
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != 32 {
		return nil
	}
	return key
}

// NewKey makes keys for a store that lost its own. All credentials of the old
// keys become invalid.
func NewKey(dir string) error {
	if err := CheckStore(dir); err != nil {
		return err
	}
	did, err := Init(dir)
	if err == nil && did == "" {
		err = fmt.Errorf("%s already has keys; to invalidate every credential, move that directory away first", filepath.Join(dir, "auth"))
	}
	return err
}

// Init makes the keys of a directory whose server is stopped, and gives an
// existing store to their ledger account. It returns what it did: "made",
// "adopted" an older store, or "" if everything existed and permissions were
// signed again only if they had changed.
func Init(dir string) (did string, err error) {
	lock, err := openStore(dir)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // unlocks it
	before := storeAccounts(dir)
	if !identity.Exists(dir) {
		if len(before) > 0 && clustered(dir) {
			return "", fmt.Errorf("the store in %s belongs to a cluster's node and cannot be given to another account; copy the directory %s of another node", dir, filepath.Join(dir, "auth"))
		}
		if len(before) > 1 {
			return "", fmt.Errorf("%s holds the stores of several accounts (%s); move away all but the one to keep", accountsDir(dir), strings.Join(before, ", "))
		}
		if err := identity.Create(dir, scopes(false), oldKey(dir)); err != nil {
			return "", err
		}
		did = "made"
	}
	accounts, err := identity.Ensure(dir, scopes(false))
	if err != nil {
		return "", err
	}
	own := accounts.Keys[identity.Ledger]
	if len(before) == 1 && before[0] != own && !clustered(dir) {
		if err := os.Rename(filepath.Join(accountsDir(dir), before[0]), filepath.Join(accountsDir(dir), own)); err != nil {
			return "", fmt.Errorf("give the store to its account: %w", err)
		}
		if err := errors.Join(atomicfile.SyncDir(accountsDir(dir)), adoptMark(dir, own)); err != nil {
			return "", fmt.Errorf("give the store to its account: %w", err)
		}
		did = "adopted"
	}
	if err := os.Remove(filepath.Join(dir, oldKeyFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("remove the old key: %w", err)
	}
	return did, nil
}
