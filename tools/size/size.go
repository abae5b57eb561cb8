package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// size is the size of one package.
type size struct {
	code, tests int             // lines
	exported    int             // names of the package, and methods of exported types
	modules     map[string]bool // of others, imported by the code
}

var required = regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+|\S+\.\S+) v\S+`)

// measure returns the sizes of the packages of the root module in an archive, by folder.
func measure(from io.Reader) (map[string]size, error) {
	files := map[string][]byte{}
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(h.Name, ".go") || path.Base(h.Name) == "go.mod" {
			if files[h.Name], err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
	}
	var modules, nested []string
	for _, m := range required.FindAllSubmatch(files["go.mod"], -1) {
		modules = append(modules, string(m[1]))
	}
	for name := range files {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			nested = append(nested, path.Dir(name)+"/")
		}
	}
	sizes := map[string]size{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".go") || slices.ContainsFunc(nested, func(n string) bool { return strings.HasPrefix(name, n) }) || strings.Contains(name, "/testdata/") {
			continue
		}
		s := sizes[path.Dir(name)]
		lines := strings.Count(string(text), "\n")
		if strings.HasSuffix(name, "_test.go") {
			s.tests += lines
		} else {
			s.code += lines
			if err := s.read(name, text, modules); err != nil {
				return nil, err
			}
		}
		sizes[path.Dir(name)] = s
	}
	return sizes, nil
}

// read counts what a file exports and imports.
func (s *size) read(name string, text []byte, modules []string) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if s.modules == nil {
		s.modules = map[string]bool{}
	}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		for _, m := range modules {
			if p == m || strings.HasPrefix(p, m+"/") {
				s.modules[m] = true
			}
		}
	}
	count := func(names ...*ast.Ident) {
		for _, n := range names {
			if n.IsExported() {
				s.exported++
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported() {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					count(spec.Name)
				case *ast.ValueSpec:
					count(spec.Names...)
				}
			}
		}
	}
	return nil
}

// receiver returns the name of a method's type.
func receiver(t ast.Expr) *ast.Ident {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x
		default:
			return ast.NewIdent("_")
		}
	}
}

// table writes the sizes, and what they were before where that differs.
func table(w io.Writer, before, after map[string]size) {
	fmt.Fprint(w, "| package | code | tests | exported names | modules |\n|---|---|---|---|---|\n")
	names := map[string]bool{}
	var was, is size
	add := func(to *size, s size) {
		to.code, to.tests, to.exported = to.code+s.code, to.tests+s.tests, to.exported+s.exported
		if to.modules == nil {
			to.modules = map[string]bool{}
		}
		maps.Copy(to.modules, s.modules)
	}
	for name, s := range before {
		names[name] = true
		add(&was, s)
	}
	for name, s := range after {
		names[name] = true
		add(&is, s)
	}
	row := func(name string, b, a size) {
		cell := func(b, a int) string {
			if len(before) == 0 || b == a {
				return strconv.Itoa(a)
			}
			return fmt.Sprintf("%d → %d", b, a)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", name, cell(b.code, a.code), cell(b.tests, a.tests), cell(b.exported, a.exported), cell(len(b.modules), len(a.modules)))
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row("`"+name+"`", before[name], after[name])
	}
	row("**all**", was, is)
}
