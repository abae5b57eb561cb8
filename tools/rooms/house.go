package main

import (
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// house is what the files of the root module import, whatever their build tags.
type house struct{ packages []*pkg }

type pkg struct {
	path        string // in the module
	imports     []imported
	code, tests int // lines
}

type imported struct{ file, path string }

// readHouse reads the imports of every Go file that Git knows and that belongs to the root module.
func readHouse(repo string) (*house, error) {
	list := exec.CommandContext(context.Background(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*go.mod")
	list.Dir = repo
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	files := strings.Fields(string(out))
	var others []string // modules of their own
	for _, f := range files {
		if path.Base(f) == "go.mod" && path.Dir(f) != "." {
			others = append(others, path.Dir(f))
		}
	}
	packages := map[string]*pkg{}
	for _, f := range files {
		if !strings.HasSuffix(f, ".go") || belowAny(f, others) || strings.Contains(f, "/testdata/") {
			continue
		}
		dir := path.Dir(f)
		if packages[dir] == nil {
			packages[dir] = &pkg{path: dir}
		}
		if err := packages[dir].read(repo, f); err != nil {
			return nil, err
		}
	}
	h := &house{}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		h.packages = append(h.packages, packages[dir])
	}
	return h, nil
}

func (p *pkg) read(repo, file string) error {
	data, err := os.ReadFile(filepath.Join(repo, file))
	if os.IsNotExist(err) {
		return nil // deleted, not yet committed
	}
	if err != nil {
		return err
	}
	lines := bytes.Count(data, []byte("\n"))
	if strings.HasSuffix(file, "_test.go") {
		p.tests += lines
		return nil
	}
	p.code += lines
	parsed, err := parser.ParseFile(token.NewFileSet(), file, data, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		p.imports = append(p.imports, imported{file, name})
	}
	return nil
}
