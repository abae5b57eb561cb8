//go:build !race

package lexers_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	chromas "github.com/alecthomas/chroma/v2/lexers"
	"github.com/askbus/askbus/internal/answering/web/lexers"
)

// Every lexer of the archive reads, also those that use others, and colours what
// chroma's own does.
func TestLexersAreChromas(t *testing.T) {
	t.Parallel()
	const text = "package main // x\nfunc f() { return \"a\" + `b` }\n<style>p { color: red }</style><script>let x = 1</script>\nSELECT 1;\n{{ if .X }}\n"
	plainer := map[string]bool{"Common Lisp": true, "EmacsLisp": true, "ERB": true} // chroma adds to the XML in Go
	compared := 0
	for _, name := range chromas.Names(true) {
		own, theirs := lexers.Get(name), chromas.Get(name)
		if own == nil || own.Config().Name != theirs.Config().Name || plainer[own.Config().Name] {
			continue
		}
		if got, want := tokens(t, own, text), tokens(t, theirs, text); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		compared++
	}
	if compared < 700 {
		t.Errorf("%d names compared", compared)
	}
	for _, name := range []string{"go", "Python", "TypeScript", "js", "sql", "bash", "yaml", "json", "diff", "rust", "html", "terraform", "dockerfile"} {
		if lexers.Get(name) == nil {
			t.Errorf("there is no lexer for %s", name)
		}
	}
	if l := lexers.Get("no such language"); l != nil {
		t.Errorf("found %s", l.Config().Name)
	}
}

func tokens(t *testing.T, l chroma.Lexer, text string) string {
	t.Helper()
	next, err := l.Tokenise(nil, text)
	if err != nil {
		t.Fatalf("%s: %v", l.Config().Name, err)
	}
	var all strings.Builder
	for token := next(); token != chroma.EOF && all.Len() < 4000; token = next() { // some of chroma's never end on what is not their language
		all.WriteString(token.Type.String() + " " + token.Value + "|")
	}
	return all.String()
}
