package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LedgerNote is the file, next to the keys, that names the servers that have served a ledger with these keys: on
// Kubernetes their StatefulSet. It is missing or empty while none has.
const LedgerNote = "ledger"

// shareLedgerNote takes the note back in to if it is gone in from: on Kubernetes a value of the chart removes it from the
// Secret of the keys, and a server may have copied it before.
func shareLedgerNote(from, to string) error {
	_, err := os.Stat(filepath.Join(from, "auth", LedgerNote))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(filepath.Join(to, "auth", LedgerNote))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// CheckLedgerNote returns an error if the store of dir is empty although the keys in it say that there is a ledger: then
// this server would take asks as if there had been none before. A node of a cluster of the same servers gets its
// copies from the others, so it may start with an empty disk; node is empty for a server that runs alone.
func CheckLedgerNote(dir, node string) error {
	data, err := os.ReadFile(filepath.Join(dir, "auth", LedgerNote))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read which servers have the ledger: %w", err)
	}
	noted := strings.TrimSpace(string(data))
	if noted == "" || len(StoreAccounts(dir)) > 0 {
		return nil
	}
	if at := strings.LastIndexByte(node, '-'); at >= 0 && node[:at] == noted {
		return nil
	}
	return fmt.Errorf("the store in %s is empty, and the keys say that %s had a ledger: serving would lose its asks. Start with its volume, and with the shape and names of before; "+
		"or, to begin with an empty ledger on purpose (then a backup can be restored), set the chart's value persistence.leave={data-%s-0}, "+
		"or without the chart empty the key %q in the Secret of the keys (the file auth/%s where --key-of points to)", dir, noted, noted, LedgerNote, LedgerNote)
}
