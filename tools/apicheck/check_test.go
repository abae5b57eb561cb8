package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/tools/txtartest"
)

// Exactly the lines of the tree with "want" are reported.
func TestReportsEveryForeignTypeInASignature(t *testing.T) {
	t.Parallel()
	dir, files := txtartest.Tree(t)
	var want []string
	for _, f := range files {
		for line := range strings.Lines(string(f.Data)) {
			if _, text, ok := strings.Cut(line, "// want "); ok {
				want = append(want, strings.TrimSpace(text))
			}
		}
	}
	faults, err := check(dir, "./pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range faults {
		_, text, _ := strings.Cut(f, "arrow 6: ")
		got = append(got, text)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestNoPackageIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/bus\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if faults, err := check(dir, "./pkg/..."); err == nil {
		t.Errorf("got %q and no error", faults)
	}
}
