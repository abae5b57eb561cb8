package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)\(`)
	testNamed = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*)`")
)

// Each test that a page names as what proves it exists by that name.
func TestEveryTestThatThePagesNameExists(t *testing.T) {
	t.Parallel()
	exists := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(data, -1) {
			exists[string(m[1])] = true
		}
		return err
	})
	if err != nil || len(exists) < 500 {
		t.Fatalf("%d tests, %v", len(exists), err)
	}
	named := map[string]string{}
	for _, page := range everyPage(t, filepath.Join("..", "..")) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testNamed.FindAllSubmatch(data, -1) {
			named[string(m[1])] = page
		}
	}
	if len(named) < 100 {
		t.Fatalf("the pages name %d tests only", len(named))
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !exists[name] {
			t.Errorf("%s names %s, which does not exist", named[name], name)
		}
	}
}

// Each row of the table "who can cause an outcome, as whom, proven how" names a
// test.
func TestEveryWayToAnOutcomeNamesItsTest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "## Who can cause an outcome")
	rest, _, _ = strings.Cut(rest, "\n## ")
	rows := 0
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| way ") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if last := cells[len(cells)-1]; len(cells) != 6 || !testNamed.MatchString(last) {
			t.Errorf("no test is named in %s", line)
		}
	}
	if rows < 25 {
		t.Errorf("%d rows only", rows)
	}
}
