package natsd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
)

// NewKey makes keys for a store that lost its own. All credentials of the old
// keys become invalid.
func NewKey(dir string) error {
	if err := storecheck.Exists(dir); err != nil {
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
// "adopted" a store of other keys, or "" if everything existed and permissions were
// signed again only if they had changed.
func Init(dir string) (did string, err error) {
	lock, err := storecheck.Lock(dir)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // unlocks it
	before := rights.StoreAccounts(dir)
	if !identity.Exists(dir) {
		if len(before) > 0 && storecheck.Clustered(dir) {
			return "", fmt.Errorf("the store in %s belongs to a cluster's node and cannot be given to another account; copy the directory %s of another node", dir, filepath.Join(dir, "auth"))
		}
		if len(before) > 1 {
			return "", fmt.Errorf("%s holds the stores of several accounts (%s); move away all but the one to keep", rights.AccountsDir(dir), strings.Join(before, ", "))
		}
		did = "made"
	}
	accounts, err := identity.Ensure(dir, rights.Scopes(false))
	if err != nil {
		return "", err
	}
	own := accounts.Keys[identity.Ledger]
	if len(before) == 1 && before[0] != own && !storecheck.Clustered(dir) {
		if err := os.Rename(filepath.Join(rights.AccountsDir(dir), before[0]), filepath.Join(rights.AccountsDir(dir), own)); err != nil {
			return "", fmt.Errorf("give the store to its account: %w", err)
		}
		if err := errors.Join(file.SyncDir(rights.AccountsDir(dir)), storecheck.AdoptMark(dir, own)); err != nil {
			return "", fmt.Errorf("give the store to its account: %w", err)
		}
		did = "adopted"
	}
	return did, nil
}
