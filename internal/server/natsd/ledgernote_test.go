package natsd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
)

// A server on another volume, with the keys of a deployment that has a ledger, would serve an empty one.
func TestAServerOnAnEmptyVolumeIsRefusedWhereThereWasALedger(t *testing.T) {
	t.Parallel()
	keys, volume, other := t.TempDir(), t.TempDir(), t.TempDir() // of the keys, and of two servers
	start := func(dir string) error {
		if err := rights.ShareKey(keys, dir); err != nil {
			t.Fatal(err)
		}
		srv, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0", MaxStore: 64 << 20})
		if err == nil {
			srv.Close()
		}
		return err
	}
	if err := start(volume); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(storecheck.StreamsDir(volume), 0o700); err != nil { // as its broker makes them
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(keys, "auth", rights.LedgerNote), []byte("askbus"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(volume); err != nil {
		t.Errorf("on its volume: %v", err)
	}
	if err := start(other); err == nil || !strings.Contains(err.Error(), "askbus had a ledger") {
		t.Errorf("on an empty volume: %v", err)
	}
	// Emptied on purpose, in the Secret.
	if err := os.WriteFile(filepath.Join(keys, "auth", rights.LedgerNote), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(other); err != nil {
		t.Errorf("after the note was emptied: %v", err)
	}
}
