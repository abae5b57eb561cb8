package templatetest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Unexplained returns the places in the Go files of a folder where text that is no literal becomes markup which
// templates write as it is, and no comment on that line says why it may. gosec reports such places for html/template,
// which it knows by its import path, and so not for the fork.
func Unexplained(dir string) (places []string, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		explained := map[int]bool{}
		for _, c := range file.Comments {
			explained[files.Position(c.Pos()).Line] = true
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && trusts(call) && !explained[files.Position(call.Pos()).Line] {
				places = append(places, fmt.Sprintf("%s: a comment has to say why templates may write this text as it is", files.Position(call.Pos())))
			}
			return true
		})
	}
	return places, nil
}

// trusts reports whether a call is a conversion such as template.HTML(text).
func trusts(call *ast.CallExpr) bool {
	to, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	from, ok := to.X.(*ast.Ident)
	if !ok || from.Name != "template" || !slices.Contains([]string{"CSS", "HTML", "HTMLAttr", "JS", "JSStr", "Srcset", "URL"}, to.Sel.Name) {
		return false
	}
	_, literal := call.Args[0].(*ast.BasicLit)
	return !literal
}
