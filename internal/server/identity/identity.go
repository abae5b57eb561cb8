// Package identity holds the keys of a bus and signs with them: its operator,
// its accounts, and a signing key for each role and width, which signs
// users' credentials. It also keeps the list of handed-out credentials and the
// revocations.
//
// It does not decide about permissions: a [Scope] brings its template, from the
// table in internal/server/rights. It does not use a server. It promises that every
// user has its own key and an expiry, that every tag is a valid token, and that
// only one process at a time writes a directory.
package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/nats-io/jwt/v2"
)

// The accounts. JetStream exists only in Ledger, which exports only outv1.> and
// statev1.> to Bus, the account of everything else, and to Backup the requests
// that read: JetStream replies with its own rights to whatever subject a request
// names, and from another account that subject is none of the ledger's.
const (
	System = "SYS"
	Ledger = "LEDGER"
	Bus    = "BUS"
	Backup = "BACKUP"
)

// Names returns the names of all accounts.
func Names() []string { return []string{System, Ledger, Bus, Backup} }

// Reading returns the requests by which a ledger is read.
func Reading() []string {
	return []string{"$JS.API.STREAM.INFO.*", "$JS.API.DIRECT.GET.*", "$JS.API.STREAM.MSG.GET.*", "$JS.API.CONSUMER.LIST.*"}
}

// Files of a directory.
const (
	folder       = "auth"
	operatorSeed = "operator.nk"
	operatorFile = "operator.jwt"
	keysFile     = "keys.json"
	lockFile     = "lock"
)

// Scope is what a signing key may sign: users of one role and width, with these
// permissions after their tags are filled in.
type Scope struct {
	Name        string
	Account     string // one of [Names]
	Permissions jwt.Permissions
	// Subscriptions is how many one connection may have; 0: no limit.
	Subscriptions int64
	InProcess     bool // valid only for connections inside the server's process
	Leaf          bool // valid only for the connections of leaf nodes, as no other scope is
}

// ErrNone means that a directory has no keys.
var ErrNone = errors.New("no keys")

// Exists reports whether a directory has keys.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, folder, keysFile))
	return err == nil
}

// locked runs do under the lock for writing the keys of a directory.
func locked(dir string, do func() error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("lock the keys of %s: %w", dir, err)
	}
	f, err := file.Lock(filepath.Join(dir, folder+"."+lockFile), true)
	if err != nil {
		return fmt.Errorf("lock the keys of %s: %w", dir, err)
	}
	defer f.Close() //nolint:errcheck // unlocks it
	return do()
}
