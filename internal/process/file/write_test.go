package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/askbus/askbus/internal/process/file"
)

func TestWriteReplacesAFileAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.json")
	for _, text := range []string{"the old content, which is longer", "the new"} {
		if err := errors.Join(file.Replace(path, []byte(text), 0o640), file.SyncDir(dir)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("the file holds %q, %v", data, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace(filepath.Join(dir, "taken"), []byte("x"), 0o600); err == nil {
		t.Error("a directory is replaced")
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("the directory holds %v, %v", all, err)
	}
}
