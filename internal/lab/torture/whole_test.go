package torture_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Only torture may break promises, and only in builds for that: the package and its importers need
// the build tag.
func TestSabotageIsOnlyInBuildsWithItsTag(t *testing.T) {
	t.Parallel()
	allowed := []string{"internal/lab/torture", "internal/bus/ledger", "internal/bus/broker", "internal/lab/command"}
	root, seen := filepath.Join("..", "..", ".."), 0
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return nil //nolint:nilerr // a file that does not parse imports nothing
		}
		rel, err := filepath.Rel(root, path)
		folder := filepath.ToSlash(filepath.Dir(rel))
		imports := slices.ContainsFunc(f.Imports, func(imp *ast.ImportSpec) bool {
			return imp.Path.Value == `"github.com/askbus/askbus/internal/bus/sabotage"`
		})
		if !imports && folder != "internal/bus/sabotage" {
			return err
		}
		seen++
		if imports && !slices.Contains(allowed, folder) {
			t.Errorf("%s imports sabotage", rel)
		}
		if !onlyWith(f, "sabotage") && !bare(path) {
			t.Errorf("%s is also in builds without the tag sabotage", rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 5 {
		t.Errorf("only %d files have to do with sabotage: is this test still looking in the right place?", seen)
	}
}

// onlyWith reports whether a file needs a build tag.
func onlyWith(f *ast.File, tag string) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil {
				return !expr.Eval(func(other string) bool { return other != tag })
			}
		}
	}
	return false
}

// bare reports whether a file declares nothing.
func bare(path string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	return err == nil && len(f.Decls) == 0
}
