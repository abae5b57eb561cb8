// Package txtartest writes the files of testdata/tree.txtar for a test.
package txtartest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// Tree writes the files into a directory of the test and returns both.
func Tree(t *testing.T) (dir string, files []txtar.File) {
	t.Helper()
	tree, err := txtar.ParseFile("testdata/tree.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range tree.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, tree.Files
}
