package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/tools/txtartest"
)

// Exactly the links followed by "want" are reported.
func TestReportsEveryLinkThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	dir, files := txtartest.Tree(t)
	var want []string
	for _, f := range files {
		for line := range strings.Lines(string(f.Data)) {
			if _, text, ok := strings.Cut(line, "want: "); ok {
				want = append(want, filepath.Base(f.Name)+" "+strings.TrimSpace(text))
			}
		}
	}
	for tags, more := range map[string][]string{"": nil, "extra": {"extra.go [Missing]: package house has no Missing"}} {
		expected := slices.Concat(want, more)
		faults, err := check(dir, tags, "./...")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range faults {
			place, text, _ := strings.Cut(f, ": ")
			file, _, _ := strings.Cut(filepath.Base(place), ":")
			got = append(got, file+" "+text)
		}
		slices.Sort(got)
		slices.Sort(expected)
		if !slices.Equal(got, expected) {
			t.Errorf("tags %q: got\n  %s\nwant\n  %s", tags, strings.Join(got, "\n  "), strings.Join(expected, "\n  "))
		}
	}
}

func TestSaysOnWhichLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/bus\n\ngo 1.26.0\n",
		"a.go":   "// Package a is\n// like [Nothing].\npackage a\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	faults, err := check(dir, "", "./...")
	if err != nil || len(faults) != 1 || !strings.HasSuffix(faults[0], "a.go:2: [Nothing]: package a has no Nothing") {
		t.Errorf("%q, %v", faults, err)
	}
}

func TestNoPackageIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/bus\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if faults, err := check(dir, "", "./..."); err == nil {
		t.Errorf("got %q and no error", faults)
	}
}
