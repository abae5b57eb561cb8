package tui

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A server over SSH runs for months, and nobody opens its drafts again.
func TestOldDraftsAreRemovedWhileTheProcessRuns(t *testing.T) {
	t.Parallel()
	d, err := OpenDrafts(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"old", "young"} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-draftLife - time.Hour)
	if err := os.Chtimes(filepath.Join(d.dir, "old"), long, long); err != nil {
		t.Fatal(err)
	}
	d.swept = time.Now().Add(-sweepEvery - time.Second)
	if _, err := d.keep("new", "", nil, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if d.has("old") || !d.has("young") || !d.has("new") {
		t.Errorf("kept are %v", d.names)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "old")); !os.IsNotExist(err) {
		t.Errorf("the file of the old draft: %v", err)
	}
}
