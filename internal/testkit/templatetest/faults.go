package templatetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"text/template/parse"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// Faults returns what is wrong with the selectors of a set of templates.
func Faults(set *template.Template, funcs template.FuncMap, roots map[string]any) []string {
	w := &walk{set: set, funcs: funcs, seen: map[visit]bool{}}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		w.template(root, reflect.TypeOf(roots[root]), root)
	}
	reached := map[string]bool{}
	for v := range w.seen {
		reached[v.name] = true
	}
	for _, one := range set.Templates() {
		if one.Tree != nil && !parse.IsEmptyTree(one.Tree.Root) && !reached[one.Name()] {
			w.faults = append(w.faults, fmt.Sprintf("%s: nothing executes it: name it and its value", one.Name()))
		}
	}
	slices.Sort(w.faults)
	return slices.Compact(w.faults)
}

// visit is a template with the type of its value.
type visit struct {
	name string
	dot  reflect.Type
}

// walk follows the types of values through templates. The type nil is one that is not known: such a value may be printed,
// but nothing of it selected.
type walk struct {
	set    *template.Template
	funcs  template.FuncMap
	seen   map[visit]bool
	faults []string
}

// scope is where a node is executed.
type scope struct {
	*walk
	tree *parse.Tree
	dot  reflect.Type
	vars []variable // the newest last
}

type variable struct {
	name string
	typ  reflect.Type
}

func (w *walk) template(name string, dot reflect.Type, from string) {
	one := w.set.Lookup(name)
	if one == nil || one.Tree == nil {
		w.faults = append(w.faults, fmt.Sprintf("%s: there is no template %q", from, name))
		return
	}
	if v := (visit{name, dot}); !w.seen[v] {
		w.seen[v] = true
		(&scope{walk: w, tree: one.Tree, dot: dot, vars: []variable{{"$", dot}}}).node(one.Tree.Root)
	}
}

func (s *scope) fault(at parse.Node, format string, args ...any) {
	where, _ := s.tree.ErrorContext(at)
	s.faults = append(s.faults, where+": "+fmt.Sprintf(format, args...))
}

// inside walks a list with a value; the variables that it declares end with it.
func (s *scope) inside(list *parse.ListNode, dot reflect.Type) {
	if list != nil {
		(&scope{walk: s.walk, tree: s.tree, dot: dot, vars: slices.Clone(s.vars)}).node(list)
	}
}

func (s *scope) node(node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			s.node(one)
		}
	case *parse.ActionNode:
		s.pipe(n.Pipe)
	case *parse.IfNode:
		in := s.branch()
		in.pipe(n.Pipe)
		in.inside(n.List, s.dot)
		in.inside(n.ElseList, s.dot)
	case *parse.WithNode:
		in := s.branch()
		in.inside(n.List, in.pipe(n.Pipe))
		in.inside(n.ElseList, s.dot)
	case *parse.RangeNode:
		in := s.branch()
		in.inside(n.List, in.ranged(n.Pipe))
		in.inside(n.ElseList, s.dot)
	case *parse.TemplateNode:
		s.template(n.Name, s.pipe(n.Pipe), s.tree.Name)
	case *parse.TextNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
	default:
		s.fault(node, "templatetest does not know %T", node)
	}
}

// branch returns a scope for the variables of a condition.
func (s *scope) branch() *scope {
	return &scope{walk: s.walk, tree: s.tree, dot: s.dot, vars: slices.Clone(s.vars)}
}

// ranged returns the type of the elements over which a range goes.
func (s *scope) ranged(p *parse.PipeNode) reflect.Type {
	declared := p.Decl
	quiet := *p
	quiet.Decl = nil
	over := bare(s.pipe(&quiet))
	var key, elem reflect.Type
	switch {
	case over == nil:
	case over.Kind() == reflect.Map:
		key, elem = over.Key(), over.Elem()
	case over.Kind() == reflect.Slice, over.Kind() == reflect.Array:
		key, elem = reflect.TypeFor[int](), over.Elem()
	default:
		s.fault(p, "templatetest does not know a range over %s", over)
	}
	switch len(declared) {
	case 1:
		s.vars = append(s.vars, variable{declared[0].Ident[0], elem})
	case 2:
		s.vars = append(s.vars, variable{declared[0].Ident[0], key}, variable{declared[1].Ident[0], elem})
	}
	return elem
}

// pipe returns the type of a pipeline's value, and declares its variables.
func (s *scope) pipe(p *parse.PipeNode) reflect.Type {
	if p == nil {
		return nil
	}
	var typ reflect.Type
	for i, cmd := range p.Cmds {
		typ = s.command(cmd, i > 0)
	}
	for _, v := range p.Decl {
		if p.IsAssign {
			if was := s.variable(v.Ident[0]); was != typ {
				s.fault(p, "%s was %v and becomes %v", v.Ident[0], was, typ)
			}
			continue
		}
		s.vars = append(s.vars, variable{v.Ident[0], typ})
	}
	return typ
}

func (s *scope) variable(name string) reflect.Type {
	for _, v := range slices.Backward(s.vars) {
		if v.name == name {
			return v.typ
		}
	}
	return nil
}

// command returns the type of a command's value. Another may be piped into it, as its last argument.
func (s *scope) command(cmd *parse.CommandNode, piped bool) reflect.Type {
	types := make([]reflect.Type, len(cmd.Args))
	for i, arg := range cmd.Args {
		if _, is := arg.(*parse.IdentifierNode); !is || i > 0 {
			types[i] = s.value(arg)
		}
	}
	if f, is := cmd.Args[0].(*parse.IdentifierNode); is {
		args := types[1:]
		if piped {
			args = append(args, nil)
		}
		return s.result(f, args)
	}
	if piped || len(cmd.Args) > 1 {
		s.fault(cmd, "%s is called: only functions are", cmd.Args[0])
	}
	return types[0]
}

// value returns the type of an operand.
func (s *scope) value(arg parse.Node) reflect.Type {
	switch n := arg.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		return s.fields(n, s.dot, n.Ident)
	case *parse.VariableNode:
		return s.fields(n, s.variable(n.Ident[0]), n.Ident[1:])
	case *parse.ChainNode:
		return s.fields(n, s.value(n.Node), n.Field)
	case *parse.PipeNode:
		return s.pipe(n)
	case *parse.IdentifierNode:
		return s.result(n, nil)
	case *parse.StringNode:
		return reflect.TypeFor[string]()
	case *parse.BoolNode:
		return reflect.TypeFor[bool]()
	case *parse.NumberNode:
		return reflect.TypeFor[int]()
	}
	return nil
}

// result returns the type of what a function returns.
func (s *scope) result(f *parse.IdentifierNode, args []reflect.Type) reflect.Type {
	if ours, has := s.funcs[f.Ident]; has {
		return reflect.TypeOf(ours).Out(0)
	}
	switch f.Ident {
	case "and", "or": // one of the arguments
		if !slices.ContainsFunc(args, func(a reflect.Type) bool { return a != args[0] }) && len(args) > 0 {
			return args[0]
		}
	case "print", "printf", "println", "html", "js", "urlquery":
		return reflect.TypeFor[string]()
	case "not", "eq", "ne", "lt", "le", "gt", "ge":
		return reflect.TypeFor[bool]()
	case "len":
		return reflect.TypeFor[int]()
	}
	return nil
}

// fields returns the type of a field of a field of a type.
func (s *scope) fields(at parse.Node, typ reflect.Type, names []string) reflect.Type {
	for _, name := range names {
		if typ = s.field(at, typ, name); typ == nil {
			return nil
		}
	}
	return typ
}

func (s *scope) field(at parse.Node, typ reflect.Type, name string) reflect.Type {
	of := bare(typ)
	if of == nil {
		s.fault(at, "%s: templatetest does not know the type that has %s", at, name)
		return nil
	}
	if _, is := reflect.PointerTo(of).MethodByName(name); is {
		s.fault(at, "%s: %s is a method of %s: make it a function of the templates, or a field", at, name, of)
		return nil
	}
	switch of.Kind() {
	case reflect.Map:
		return of.Elem()
	case reflect.Struct:
		if f, has := of.FieldByName(name); has && f.IsExported() {
			return f.Type
		}
	}
	s.fault(at, "%s: %s has no field %s", at, of, name)
	return nil
}

// bare returns the type to which a pointer points; nil for a type that is not known, such as any.
func bare(typ reflect.Type) reflect.Type {
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ != nil && typ.Kind() == reflect.Interface {
		return nil
	}
	return typ
}
