package main

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// check returns a line for each broken link in the packages' doc comments.
func check(dir, tags string, patterns ...string) ([]string, error) {
	config := &packages.Config{Dir: dir, Tests: true, Mode: packages.LoadSyntax, BuildFlags: []string{"-tags=" + tags}}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, err
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no package matches %q", patterns)
	}
	other := foreign{dir: dir, known: map[string]*types.Package{}}
	var faults []string
	for _, p := range loaded {
		for _, e := range p.Errors {
			return nil, e
		}
		if strings.HasSuffix(p.ID, ".test") {
			continue // made by go test
		}
		c := checker{pkg: p, imports: imports(p), other: &other}
		for _, f := range p.Syntax {
			ast.Inspect(f, c.visit)
		}
		if c.err != nil {
			return nil, c.err
		}
		faults = append(faults, c.faults...)
	}
	slices.Sort(faults)
	return slices.Compact(faults), nil // a package is loaded with its tests and without
}

// imports returns the import paths of a package's files by name.
func imports(p *packages.Package) map[string]*types.Package {
	all := map[string]*types.Package{p.Types.Name(): p.Types}
	for _, f := range p.Syntax {
		for _, spec := range f.Imports {
			if name := p.TypesInfo.PkgNameOf(spec); name != nil && name.Name() != "." && name.Name() != "_" {
				all[name.Name()] = name.Imported()
			}
		}
	}
	return all
}

type checker struct {
	pkg     *packages.Package
	imports map[string]*types.Package
	other   *foreign
	faults  []string
	err     error
}

// visit checks the doc comments of a node.
func (c *checker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.File:
		c.read(n.Doc)
	case *ast.GenDecl:
		c.read(n.Doc)
	case *ast.FuncDecl:
		c.read(n.Doc)
	case *ast.TypeSpec:
		c.read(n.Doc)
		c.read(n.Comment)
	case *ast.ValueSpec:
		c.read(n.Doc)
		c.read(n.Comment)
	case *ast.Field:
		c.read(n.Doc)
		c.read(n.Comment)
	}
	return c.err == nil
}

// unknown replaces the import path of a name that is not a package.
const unknown = "unknown package "

func (c *checker) read(group *ast.CommentGroup) {
	if group == nil {
		return
	}
	parser := comment.Parser{
		// Treat everything that looks like a link as one, so that it is checked.
		LookupSym: func(string, string) bool { return true },
		LookupPackage: func(name string) (string, bool) {
			if p, ok := c.imports[name]; ok {
				return p.Path(), true
			}
			if path, ok := comment.DefaultLookupPackage(name); ok {
				return path, true
			}
			return unknown + name, true
		},
	}
	for _, l := range links(parser.Parse(group.Text())) {
		if fault := c.fault(l); fault != "" {
			c.faults = append(c.faults, fmt.Sprintf("%s: [%s]: %s", c.place(group, l), text(l), fault))
		}
	}
}

// fault describes the fault of a link, or returns "".
func (c *checker) fault(l *comment.DocLink) string {
	if l.Name == "" {
		return "" // [word] is a link only when there is such a package
	}
	pkg := c.pkg.Types
	if name, ok := strings.CutPrefix(l.ImportPath, unknown); ok {
		return "no package " + name + " is imported"
	}
	if l.ImportPath != "" {
		var err error
		if pkg, err = c.packageAt(l.ImportPath); err != nil {
			return err.Error()
		}
	}
	outer := l.Name
	if l.Recv != "" {
		outer = l.Recv
	}
	obj := pkg.Scope().Lookup(outer)
	if obj == nil {
		return "package " + pkg.Name() + " has no " + outer
	}
	if l.Recv == "" {
		return ""
	}
	if member, _, _ := types.LookupFieldOrMethod(obj.Type(), true, pkg, l.Name); member == nil {
		return outer + " has no field or method " + l.Name
	}
	return ""
}

func (c *checker) packageAt(path string) (*types.Package, error) {
	for _, p := range c.imports {
		if p.Path() == path {
			return p, nil
		}
	}
	return c.other.load(path)
}

// place returns the line on which a link begins.
func (c *checker) place(group *ast.CommentGroup, l *comment.DocLink) string {
	at := group.Pos()
	for _, line := range group.List {
		if strings.Contains(line.Text, "["+text(l)+"]") {
			at = line.Pos()
			break
		}
	}
	p := c.pkg.Fset.Position(at)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// foreign loads packages that a comment names and its package does not import.
type foreign struct {
	dir   string
	known map[string]*types.Package
}

func (f *foreign) load(path string) (*types.Package, error) {
	if p, ok := f.known[path]; ok {
		return p, nil
	}
	loaded, err := packages.Load(&packages.Config{Dir: f.dir, Mode: packages.LoadTypes}, path)
	if err != nil {
		return nil, err
	}
	if len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		return nil, fmt.Errorf("no package %s", path)
	}
	f.known[path] = loaded[0].Types
	return loaded[0].Types, nil
}
