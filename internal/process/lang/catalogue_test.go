package lang_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Where people read a surface's texts.
var (
	surfaces = []string{
		"pkg/card", "internal/answering/auth", "internal/answering/auth/*", "internal/answering/web", "internal/answering/tui", "internal/answering/prompt", "internal/answering/chat", "internal/answering/chat/*", "internal/answering/push", "internal/asking/gateway/panel", "internal/asking/gateway/wsapi", "internal/asking/mcpserver", "internal/asking/hook/hostcall", "internal/cli", "internal/cli/agent", "internal/cli/operator", "internal/cli/person", "internal/role",
	}
	pages   = []string{"internal/answering/web/templates/*.html", "internal/answering/chat/email/templates/*.html", "internal/asking/gateway/panel/static/*.html"}
	styles  = []string{"internal/answering/web/static/*.css", "internal/asking/gateway/panel/static/*.css"}
	scripts = []string{"internal/answering/web/static/*.js", "internal/asking/gateway/panel/static/*.js"}
)

// forms are a message of a catalogue file: one text, or some by number.
type forms map[string]string

func readCatalogues(t *testing.T) map[string]map[string]forms {
	t.Helper()
	all := map[string]map[string]forms{}
	for _, file := range glob(t, "internal/process/lang/messages/*.json") {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var sections map[string]json.RawMessage
		if err := json.Unmarshal(body, &sections); err != nil {
			t.Fatal(file, err)
		}
		delete(sections, "name")
		messages := map[string]forms{}
		for _, raw := range sections {
			var section map[string]any
			if err := json.Unmarshal(raw, &section); err != nil {
				t.Fatal(file, err)
			}
			for key, value := range section {
				f := forms{}
				switch v := value.(type) {
				case string:
					f[""] = v
				case map[string]any:
					for name, text := range v {
						f[name], _ = text.(string)
					}
				}
				messages[key] = f
			}
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = messages
	}
	return all
}

func glob(t *testing.T, patterns ...string) (files []string) {
	t.Helper()
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join("../../..", p))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: nothing, %v", p, err)
		}
		files = append(files, found...)
	}
	return files
}

// source holds the texts of the surfaces, and those outside of the catalogue.
type source struct {
	used map[string]string // message: where
	bare []string
}

var (
	templateSay = regexp.MustCompile(`\b(?:say|tell) "((?:[^"\\]|\\.)+)"`)
	scriptSay   = regexp.MustCompile(`\bsay\('((?:[^'\\]|\\.)+)'`)
	action      = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	tag         = regexp.MustCompile(`(?s)<[^>]*>`)
	spoken      = regexp.MustCompile(`\b(?:aria-label|placeholder|title|alt)="([^"]*)"`)
	letters     = regexp.MustCompile(`\p{L}{2,}`)
	silent      = regexp.MustCompile(`(?s)<(?:kbd|code|style)[^>]*>.*?</(?:kbd|code|style)>`)
	sentence    = regexp.MustCompile(`\p{L}{2,}[,;:]? \p{Ll}{2,}`)
	drawn       = regexp.MustCompile(`content: "[^"]*\p{L}{2,}[^"]*"`)
	quoted      = regexp.MustCompile("'((?:[^'\\\\\n]|\\\\.)*)'|`([^`]*)`")
	comment     = regexp.MustCompile(`(?m)(^|\s)//.*$|/\*.*?\*/`)
	// Identical in every language: names and file formats.
	names = []string{"askbus", "CSV", "JSON"}
	// Parts of pages that scripts find and set.
	hole      = regexp.MustCompile(`\$\{[^}]*\}`)
	selectors = []string{"button, a, summary, input", "li button", ".note textarea", "noted left", "noreferrer nofollow noopener"}
)

// readTemplate collects the texts of a page.
func (s *source) readTemplate(file, body string) {
	for _, m := range templateSay.FindAllStringSubmatch(body, -1) {
		s.used[strings.ReplaceAll(m[1], `\"`, `"`)] = file
	}
	text := action.ReplaceAllString(body, "")
	text = silent.ReplaceAllString(text, "")
	for _, m := range spoken.FindAllStringSubmatch(text, -1) {
		if letters.MatchString(m[1]) {
			s.bare = append(s.bare, file+": "+m[0])
		}
	}
	for _, word := range letters.FindAllString(tag.ReplaceAllString(text, "\n"), -1) {
		if !slices.Contains(names, word) {
			s.bare = append(s.bare, file+": "+word)
		}
	}
}

// readScript collects the texts of a script.
func (s *source) readScript(file, body string) {
	for _, m := range scriptSay.FindAllStringSubmatch(body, -1) {
		s.used[strings.ReplaceAll(m[1], `\'`, `'`)] = file
	}
	body = comment.ReplaceAllString(scriptSay.ReplaceAllString(body, ""), "")
	for _, m := range quoted.FindAllStringSubmatch(body, -1) {
		text := hole.ReplaceAllString(m[1]+m[2], "")
		if sentence.MatchString(text) && !strings.ContainsAny(text, "[](){}:=<") && !slices.Contains(selectors, text) {
			s.bare = append(s.bare, file+": "+text)
		}
	}
}

// readGo collects the texts of a Go file.
func (s *source) readGo(t *testing.T, file string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	checked := !strings.HasSuffix(file, "doctor.go") && !strings.HasSuffix(file, "web/audit.go") && slices.ContainsFunc(bound, func(dir string) bool { return strings.Contains(file, dir) })
	var inspect func(n ast.Node) bool
	inspect = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.StructType:
			return false
		case *ast.CallExpr:
			if name := called(n); name == "Say" || name == "tell" || name == "notify" || name == "Tell" || checked && name == "say" {
				at := slices.IndexFunc(n.Args, func(arg ast.Expr) bool { text, ok := literal(arg); return ok && text != "/" })
				if at < 0 {
					return true
				}
				text, _ := literal(n.Args[at])
				s.used[text] = file
				for _, arg := range n.Args[at+1:] {
					ast.Inspect(arg, inspect)
				}
				return false
			} else if slices.Contains(inside, name) {
				return false
			}
		}
		s.word(file, n, checked)
		return true
	}
	ast.Inspect(tree, inspect)
}

func (s *source) word(file string, n ast.Node, checked bool) {
	if text, ok := literal(n); ok && checked && sentence.MatchString(text) && !slices.ContainsFunc(technical, func(one string) bool { return strings.Contains(text, one) }) {
		s.bare = append(s.bare, file+": "+text)
	}
}

// bound are the packages whose sentences must be in the catalogue. The output
// and errors of the command line stay in English.
var bound = []string{"pkg/card/", "internal/answering/web/", "internal/answering/tui/", "internal/answering/prompt/", "internal/answering/chat/", "internal/asking/gateway/panel/"}

// inside are calls whose sentences no reader of a surface sees: logs, errors of
// programs, refusals of scripts, records of the audit.
var inside = []string{
	"Errorf", "New", "Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "String", "Refuse", "fault", "InvalidError", "Set", "MustCompile", "compiled", "panic", "metric", "dead", "Fault", "Close", "note", "noteRefused", "notePerson", "RefuseRequest",
}

// technical are other texts that no reader sees.
var technical = []string{"# HELP ", "; charset=", " needs an answer", "<bdi", "<strong", "<time", "<span", "target=", "rel=", "retry: ", "event: ", "any maskable", "askbus web ", "alt+enter ctrl+j", "the audience is one person", "the default", " askbus ask ", "validation failed", "message is not modified", "not found", "can't be edited", "default-src", "form-action", "base-uri", "require-trusted-types", "max-age=", "text/", "camera=(", "sha256"}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func literal(n ast.Node) (string, bool) {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

func read(t *testing.T) *source {
	t.Helper()
	s := &source{used: map[string]string{}}
	for _, file := range glob(t, pages...) {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.readTemplate(file, string(body))
	}
	for _, file := range glob(t, scripts...) {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.readScript(file, string(body))
	}
	for _, file := range glob(t, styles...) {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range drawn.FindAllStringSubmatch(string(body), -1) {
			s.bare = append(s.bare, file+": "+m[0])
		}
	}
	for _, dir := range surfaces {
		for _, file := range glob(t, dir+"/*.go") {
			if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, "/doctor.go") { // which is of the command line
				s.readGo(t, file)
			}
		}
	}
	return s
}

// TestEveryMessageIsInEveryLanguage checks that no language lacks a message,
// and that every message of the catalogue is used.
func TestEveryMessageIsInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := read(t)
	all := readCatalogues(t)
	for _, lang := range slices.Sorted(maps.Keys(all)) {
		for _, text := range slices.Sorted(maps.Keys(s.used)) {
			if _, ok := all[lang][text]; !ok && lang != "en" {
				t.Errorf("%s lacks %q of %s", lang, text, s.used[text])
			}
		}
		for _, text := range slices.Sorted(maps.Keys(all[lang])) {
			if s.used[text] == "" {
				t.Errorf("%s: nobody says %q", lang, text)
			}
			for form, said := range all[lang][text] {
				if want, got := verbs(text), verbs(said); !slices.Equal(want, got) && (!strings.HasPrefix(form, "=") || !slices.Equal(want[1:], got)) {
					t.Errorf("%s: %q has %v, its form %q has %v", lang, text, want, form, got)
				}
				if said == "" || strings.TrimSpace(said) != said && strings.TrimSpace(text) == text {
					t.Errorf("%s: %q: %q", lang, text, said)
				}
			}
		}
	}
}

// verbs returns the verbs of a pattern, each with its number, in order.
func verbs(text string) []string {
	text, _, _ = strings.Cut(text, "|")
	var all []string
	for i, m := range regexp.MustCompile(`%(?:\[(\d)\])?([a-z])`).FindAllStringSubmatch(text, -1) {
		at := m[1]
		if at == "" {
			at = strconv.Itoa(i + 1)
		}
		all = append(all, at+m[2])
	}
	slices.Sort(all)
	return all
}

// TestEverySentenceIsInTheCatalogue finds sentences in pages, scripts and
// surfaces that are not in the catalogue, and would stay English for everybody.
func TestEverySentenceIsInTheCatalogue(t *testing.T) {
	t.Parallel()
	for _, bare := range read(t).bare {
		t.Error(bare)
	}
}

// TestTheChecksDetectFaults checks that the checks above detect faults.
func TestTheChecksDetectFaults(t *testing.T) {
	t.Parallel()
	s := &source{used: map[string]string{}}
	s.readTemplate("page", `<p title="A word">{{say "known"}} Bare <kbd>Esc</kbd></p>`)
	s.readScript("script", "const a = 'two words'; b = say('also known'); c = `another sentence ${d}`; // not this one")
	file := filepath.Join(t.TempDir(), "internal/answering/web/x.go")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`package x; var _ = l.Say("in the catalogue", "not in it", other("nor in this")); var _ = "neither here"; var _ = errors.New("an error only")`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.readGo(t, file)
	if want := []string{`page: title="A word"`, "page: Bare", "script: two words", "script: another sentence ", file + ": not in it", file + ": nor in this", file + ": neither here"}; !slices.Equal(s.bare, want) {
		t.Errorf("found %q", s.bare)
	}
	if _, ok := s.used["in the catalogue"]; !ok || len(s.used) != 3 {
		t.Errorf("used %q", s.used)
	}
	if slices.Equal(verbs("%d of %s"), verbs("%s of %d")) || !slices.Equal(verbs("%d of %s"), verbs("%[2]s, %[1]d")) {
		t.Error("verbs")
	}
}
