// Package goldentest compares what a test made with a golden file. With -update
// the test rewrites the file: read the diff before you commit it.
package goldentest

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Equal fails the test if got is not what the file holds.
func Equal(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, got)
	}
}
