// Package templatetest checks templates without executing them.
//
// Our templates are parsed and executed by a fork of html/template that calls no methods. A method that a template
// selects fails only where it is executed, and that of a map not even there. So [Check] looks at every selector.
package templatetest

import (
	"errors"
	stdtemplate "html/template"
	"io"
	"maps"
	"slices"
	"testing"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// Check fails the test if a template of a set selects something that the values which reach it do not have as a field,
// if no root leads to a template, or if the set is escaped in another way than html/template would. The set has not been
// executed yet. Roots are the templates that are executed, with a value of the type that they are given. It also reports
// what is [Unexplained] in the folder of the test.
func Check(t testing.TB, set *template.Template, funcs template.FuncMap, roots map[string]any) {
	t.Helper()
	for _, fault := range Faults(set, funcs, roots) {
		t.Error(fault)
	}
	sameAsGo(t, set, funcs, roots)
	places, err := Unexplained(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range places {
		t.Error(place)
	}
}

// sameAsGo compares what the fork adds to the templates with what html/template adds. It executes the roots with nothing
// and ignores how that ends: they are escaped before.
func sameAsGo(t testing.TB, set *template.Template, funcs template.FuncMap, roots map[string]any) {
	t.Helper()
	std := stdtemplate.New("").Funcs(funcs)
	ours, err := set.Clone()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range set.Templates() {
		if one.Tree == nil {
			continue
		}
		if _, err := std.AddParseTree(one.Name(), one.Tree.Copy()); err != nil {
			t.Fatal(err)
		}
	}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if wrong, is := errors.AsType[*template.Error](ours.ExecuteTemplate(io.Discard, root, nil)); is {
			t.Fatal(wrong)
		}
		if wrong, is := errors.AsType[*stdtemplate.Error](std.ExecuteTemplate(io.Discard, root, nil)); is {
			t.Fatal(wrong)
		}
	}
	for _, one := range std.Templates() {
		if one.Tree == nil {
			continue
		}
		got, want := ours.Lookup(one.Name()).Tree.Root.String(), one.Tree.Root.String()
		if got != want {
			t.Errorf("%s is escaped as\n%s\nand not, as html/template does, as\n%s", one.Name(), got, want)
		}
	}
}
