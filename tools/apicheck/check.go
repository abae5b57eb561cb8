package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// check returns a line for each exported identifier of the packages whose type refers to a type
// that outsiders should not need.
func check(dir string, patterns ...string) ([]string, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir:  dir,
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no package matches %q", patterns)
	}
	var faults []string
	for _, p := range loaded {
		for _, e := range p.Errors {
			return nil, e
		}
		// Packages that only tests import may use testing libraries.
		if strings.HasSuffix(p.Name, "test") {
			continue
		}
		c := checker{module: p.Module.Path, pkg: p}
		c.check()
		faults = append(faults, c.faults...)
	}
	slices.Sort(faults)
	return faults, nil
}

type checker struct {
	module string
	pkg    *packages.Package
	faults []string
}

func (c *checker) check() {
	scope := c.pkg.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		c.object(obj)
	}
}

func (c *checker) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Func:
		c.walk(obj.Type(), obj, strings.HasPrefix(obj.Name(), "New") || strings.HasPrefix(obj.Name(), "Connect"))
	case *types.TypeName:
		if !obj.IsAlias() {
			c.walk(obj.Type().Underlying(), obj, false)
		} else {
			c.walk(types.Unalias(obj.Type()), obj, false)
		}
		if named, ok := obj.Type().(*types.Named); ok {
			for m := range named.Methods() {
				if m.Exported() && !decoders(m.Name()) {
					c.walk(m.Type(), m, m.Name() == "Conn")
				}
			}
		}
	default:
		c.walk(obj.Type(), obj, false)
	}
}

// walk visits each type that a reader of the documentation sees.
func (c *checker) walk(t types.Type, at types.Object, constructor bool) {
	switch t := t.(type) {
	case *types.Alias:
		c.named(t.Obj(), at)
	case *types.Named:
		if constructor && isNATS(t, "Option") {
			return
		}
		c.named(t.Obj(), at)
		for a := range t.TypeArgs().Types() {
			c.walk(a, at, constructor)
		}
	case *types.Pointer:
		if constructor && isNATS(t.Elem(), "Conn") {
			return
		}
		c.walk(t.Elem(), at, constructor)
	case *types.Slice:
		c.walk(t.Elem(), at, constructor)
	case *types.Array:
		c.walk(t.Elem(), at, constructor)
	case *types.Chan:
		c.walk(t.Elem(), at, constructor)
	case *types.Map:
		c.walk(t.Key(), at, constructor)
		c.walk(t.Elem(), at, constructor)
	case *types.Signature:
		for v := range t.Params().Variables() {
			c.walk(v.Type(), at, constructor)
		}
		for v := range t.Results().Variables() {
			c.walk(v.Type(), at, constructor)
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				c.walk(f.Type(), f, false)
			}
		}
	case *types.Interface:
		for e := range t.EmbeddedTypes() {
			c.walk(e, at, false)
		}
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				c.walk(m.Type(), m, false)
			}
		}
	}
}

func (c *checker) named(name *types.TypeName, at types.Object) {
	pkg := name.Pkg()
	if pkg == nil || c.public(pkg.Path()) || standard(pkg.Path()+"."+name.Name()) {
		return
	}
	position := c.pkg.Fset.Position(at.Pos())
	c.faults = append(c.faults, fmt.Sprintf("%s: arrow 6: %s.%s shows %s.%s", position, c.pkg.Name, at.Name(), pkg.Path(), name.Name()))
}

// decoders reports whether a method is one that decoders and encoders of JSON (version 2) call, and no reader of the
// documentation.
func decoders(method string) bool { return method == "UnmarshalJSONFrom" || method == "MarshalJSONTo" }

// standard reports whether a type is OpenTelemetry's interface, which exists for signatures of libraries.
func standard(name string) bool { return name == "go.opentelemetry.io/otel/trace.TracerProvider" }

// public reports whether a package belongs to the standard library or to our pkg.
func (c *checker) public(path string) bool {
	if strings.HasPrefix(path, c.module+"/pkg/") {
		return true
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func isNATS(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "github.com/nats-io/nats.go"
}
