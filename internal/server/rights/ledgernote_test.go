package rights_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/server/rights"
)

func TestAnEmptyStoreIsRefusedWhereTheKeysKnowALedger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		noted, node  string
		store, serve bool
	}{
		"the first start":                         {"", "", false, true},
		"a note that was emptied":                 {"\n", "", false, true},
		"one pod on its volume":                   {"askbus", "", true, true},
		"one pod on another volume":               {"askbus", "", false, false},
		"a node whose disk was replaced":          {"askbus-nats", "askbus-nats-2", false, true},
		"a node of a cluster, which was one pod":  {"askbus", "askbus-nats-0", false, false},
		"a node of a cluster with another name":   {"askbus-nats", "other-nats-0", false, false},
		"one pod, which was a cluster":            {"askbus-nats", "", false, false},
		"a node on its volume, after another run": {"askbus", "askbus-nats-0", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "auth"), 0o700); err != nil {
				t.Fatal(err)
			}
			if c.noted != "" {
				if err := os.WriteFile(filepath.Join(dir, "auth", rights.LedgerNote), []byte(c.noted), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.store {
				if err := os.MkdirAll(filepath.Join(rights.AccountsDir(dir), "A", "streams", "ASKS_00"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			err := rights.CheckLedgerNote(dir, c.node)
			if c.serve && err != nil || !c.serve && (err == nil || !strings.Contains(err.Error(), "persistence.leave={data-"+c.noted+"-0}")) {
				t.Errorf("%v, want it to serve: %v", err, c.serve)
			}
		})
	}
}

// A server that copied the note before it was taken back from the keys starts: otherwise one that was started too early
// would refuse an empty store for ever.
func TestANoteThatIsTakenBackIsTakenBackEverywhere(t *testing.T) {
	t.Parallel()
	keys, dir := t.TempDir(), t.TempDir()
	if _, err := rights.EnsureKeys(keys, false); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(keys, "auth", rights.LedgerNote)
	if err := os.WriteFile(note, []byte("askbus"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, starts := range []bool{false, true, true} {
		if err := rights.ShareKey(keys, dir); err != nil {
			t.Fatal(err)
		}
		if err := rights.CheckLedgerNote(dir, "askbus-nats-0"); (err == nil) != starts {
			t.Errorf("it starts: %v, want %v", err, starts)
		}
		if err := os.Remove(note); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}
