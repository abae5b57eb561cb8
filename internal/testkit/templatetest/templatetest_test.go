package templatetest_test

import (
	"errors"
	stdtemplate "html/template"
	"os"
	"path/filepath"
	"strings"
	"testing"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/testkit/templatetest"
)

type inner struct{ Title string }

func (inner) Loud() string { return "" }

// values is a map that has methods: a method that a template selects is then a key that it does not have.
type values map[string]string

func (values) Get(string) string { return "" }

type outer struct {
	*inner
	Rows   []inner
	Named  map[string]inner
	Form   values
	Any    any
	hidden string //nolint:unused // what a template cannot select
}

func (*outer) Whole() string { return "" }

func TestEachSelectorIsLookedAt(t *testing.T) {
	t.Parallel()
	funcs := template.FuncMap{
		"pick": func(o *outer) inner { return o.Rows[0] },
		"bold": func(string) template.HTML { return "" },
	}
	for text, want := range map[string]string{
		`{{.Title}}{{.inner.Title}}`: "no field inner",
		`{{.Title}} {{range $i, $r := .Rows}}{{$i}}{{.Title}}{{$r.Title}}{{$.Title}}{{end}}`: "",
		`{{range .Named}}{{.Title}}{{end}}{{.Form.name}}{{.Any}}{{(pick .).Title}}`:          "",
		`{{with $x := pick .}}{{.Title}}{{$x.Title}}{{else}}{{.Rows}}{{end}}`:                "",
		`{{if .Rows}}{{else if .Title}}{{bold (or .Title "x")}}{{end}}{{len .Rows}}`:         "",
		`{{$x := ""}}{{if .Title}}{{$x = .Title}}{{end}}{{$x}}`:                              "",
		`{{.Loud}}`:                                    "Loud is a method",
		`{{.Whole}}`:                                   "Whole is a method",
		`{{.Form.Get "reason"}}`:                       "Get is a method",
		`{{.Form.Get}}`:                                "Get is a method",
		`{{bold $.Loud}}`:                              "Loud is a method",
		`{{bold (pick .).Loud}}`:                       "Loud is a method",
		`{{range .Rows}}{{.Loud}}{{end}}`:              "Loud is a method",
		`{{range .Rows}}{{else}}{{.Loud}}{{end}}`:      "Loud is a method",
		`{{range $r := .Rows}}{{$r.Loud}}{{end}}`:      "Loud is a method",
		`{{range $k, $r := .Named}}{{$r.Loud}}{{end}}`: "Loud is a method",
		`{{with .Any}}{{else}}{{$.Loud}}{{end}}`:       "Loud is a method",
		`{{if .Any}}{{else if not .Loud}}{{end}}`:      "Loud is a method",
		`{{with pick .}}{{.Loud}}{{end}}`:              "Loud is a method",
		`{{.Title | printf "%s %s" .Loud | bold}}`:     "Loud is a method",
		`{{define "row"}}{{.Loud}}{{end}}{{range .Rows}}{{template "row" .}}{{end}}`: "Loud is a method",
		`{{define "row"}}{{$.Loud}}{{end}}{{template "row" pick .}}`:                 "Loud is a method",
		`{{.Title 3}}`:                   "only functions",
		`{{.Any.Title}}`:                 "does not know the type",
		`{{(or .Title 3).X}}`:            "does not know the type",
		`{{(index .Rows 0).X}}`:          "does not know the type",
		`{{.hidden}}`:                    "no field hidden",
		`{{.Nothing}}`:                   "no field Nothing",
		`{{.Title.Nothing}}`:             "no field Nothing",
		`{{$x := .Rows}}{{$x = .Title}}`: "becomes string",
		`{{define "row"}}x{{end}}`:       "row: nothing executes it",
	} {
		set := template.Must(template.New("page").Funcs(funcs).Parse(text))
		faults := templatetest.Faults(set, funcs, map[string]any{"page": &outer{}})
		if want == "" && len(faults) > 0 || !strings.Contains(strings.Join(faults, "\n"), want) {
			t.Errorf("%s: %q, want %q", text, faults, want)
		}
	}
	if faults := templatetest.Faults(template.New(""), nil, map[string]any{"page": 1}); len(faults) != 1 {
		t.Errorf("a root that does not exist: %q", faults)
	}
}

// What our templates get reaches them in these contexts. (Scripts have it only as JSON.)
func TestTheForkEscapesAsGoDoes(t *testing.T) {
	t.Parallel()
	contexts := []string{
		`<p>{{.}}</p>`, `<title>{{.}}</title>`, `<textarea>{{.}}</textarea>`, `<p title="{{.}}">`, `<p title='{{.}}'>`, `<p title={{.}}>`, `<p{{.}}>`, `<input {{.}}>`,
		`<a href="{{.}}">`, `<a href="/x/{{.}}">`, `<a href="/x?q={{.}}#{{.}}">`, `<form action="{{.}}/answer{{.}}">`, `<img src="{{.}}" srcset="{{.}}">`,
		`<meta http-equiv="refresh" content="0;url={{.}}">`, `<meta name="x" content="{{.}}">`, `<a data-href="{{.}}">`, `<a xlink:href="{{.}}">`,
		`<p style="color:{{.}}">`, `<p style="background:url('{{.}}')">`, `<style>{{.}}</style>`, `<style>p{content:"{{.}}"}</style>`,
		`<script>var x = {{.}};</script>`, `<script>var x = "{{.}}";</script>`, `<script type="application/json">{{.}}</script>`, `<script type="text/x">{{.}}</script>`,
		`<button onclick="f({{.}})">`, `<!-- {{.}} -->{{.}}`, `<svg width="{{.}}">`,
	}
	every := make([]byte, 0, 128)
	for b := range byte(128) {
		every = append(every, b)
	}
	given := []any{
		string(every), "", "a b", `" onmouseover="alert(1)`, "'><script>alert(1)</script>", "</textarea></title></style></script><!--", "javascript:alert(1)", "JaVaScRiPt\n:alert(1)", "data:text/html,x",
		"https://example.com/?a=b&c=d#e", "mailto:a@b.c", "//host/x", "{{.}}", "`${alert(1)}`", "\u2028\u2029\ufdd0\ufeff\x80", "提问", 3, 2.5, true, nil,
		[]string{"a", "<b>"},
		map[string]any{"</script>": "<!--"},
		errors.New("<error>"),
		struct{ A string }{"</p>"},
		template.HTML("<b>&amp;\"</b>"), template.HTMLAttr(` lang="zh"`), template.CSS("p{}"), template.JS(`{"a":1}`), template.URL("javascript:x"), template.JSStr("a\\'b"),
	}
	for _, text := range contexts {
		ours := template.Must(template.New("").Parse(text))
		std := stdtemplate.Must(stdtemplate.New("").Parse(text))
		for _, value := range given {
			var got, want strings.Builder
			if err := std.Execute(&want, value); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if err := ours.Execute(&got, value); err != nil || got.String() != want.String() {
				t.Errorf("%s with %#v: %v\n got %s\nwant %s", text, value, err, &got, &want)
			}
		}
	}
}

func TestTrustedTextHasAReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const source = `package x

import template "github.com/DataDog/datadog-agent/pkg/template/html"

func f(s string) (template.HTML, template.URL) {
	const none = template.HTML("<br>")
	_ = template.HTML(s) // it is escaped
	_ = template.HTMLEscapeString(s)
	return template.HTML(s),
		template.URL("x:" + s)
}
`
	for _, name := range []string{"x.go", "x_test.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	places, err := templatetest.Unexplained(dir)
	if err != nil || len(places) != 2 || !strings.Contains(places[0], "x.go:9:9: ") || !strings.Contains(places[1], "x.go:10:3: ") {
		t.Errorf("%q, %v", places, err)
	}
}
