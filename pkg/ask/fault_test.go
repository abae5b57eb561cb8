package ask_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/askbus/askbus/pkg/ask"
)

func han(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// TestEveryFaultHasItsWords checks the catalogue: each code has words in both
// languages that name the same arguments, and a row in protocol.md.
func TestEveryFaultHasItsWords(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if code, ok := strings.CutPrefix(line, "| `"); ok {
			code, _, _ = strings.Cut(code, "`")
			documented[code] = true
		}
	}
	for _, code := range ask.FaultCodes() {
		names := ask.FaultArgs(code)
		args := make([]any, len(names))
		for i, name := range names {
			args[i] = "<" + name + ">"
		}
		f := ask.NewFault("/x", code, args...)
		english, chinese := f.In("en"), f.In("zh-Hans")
		for _, words := range []string{english, chinese} {
			if words == "" || strings.ContainsAny(words, "{}[]") {
				t.Errorf("%s: %q", code, words)
			}
			for _, name := range names {
				if !strings.Contains(words, "<"+name+">") {
					t.Errorf("%s: %q lacks the argument %s", code, words, name)
				}
			}
		}
		if han(english) || !han(chinese) || f.Message != english {
			t.Errorf("%s: %q, %q, %q", code, english, chinese, f.Message)
		}
		row := fmt.Sprintf("| `%s` | %s | %s |\n", code, strings.Join(names, ", "), strings.ReplaceAll(english, "|", "\\|"))
		if !strings.Contains(string(page), row) {
			t.Errorf("protocol.md lacks the row\n%s", row)
		}
	}
}

// TestFaultsAreMadeFromTheCatalogue reads the program: every code is used, with
// the arguments that its words name, and no fault is made of words alone. Where
// agents come in, and in what people do beside answering, neither is a refusal.
func TestFaultsAreMadeFromTheCatalogue(t *testing.T) {
	t.Parallel()
	codes, used := map[string]ask.FaultCode{}, map[string]bool{}
	var visit func(path string, n ast.Node)
	visit = func(path string, n ast.Node) {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "FaultCode" {
					value, _ := strconv.Unquote(n.Values[i].(*ast.BasicLit).Value) //nolint:forcetypeassert // a constant of this package
					codes[name.Name] = ask.FaultCode(value)
				}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Refuse" && nameOf(f.X) == "ask" && catalogued(path) {
				t.Errorf("%s: a refusal is made of words alone; use Refusal", path)
			}
			for i, arg := range n.Args {
				code, ok := codes[nameOf(arg)]
				if !ok {
					continue
				}
				used[nameOf(arg)] = true
				names := ask.FaultArgs(code)
				given := len(n.Args) - i - 1
				if n.Ellipsis == 0 && given != len(names) {
					t.Errorf("%s: %s has %d arguments, not %v", path, code, given, names)
				}
			}
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				used[nameOf(result)] = true
			}
		case *ast.CompositeLit:
			if list, ok := n.Type.(*ast.ArrayType); ok && nameOf(list.Elt) == "Fault" {
				for _, e := range n.Elts {
					if f, ok := e.(*ast.CompositeLit); ok {
						visit(path, &ast.CompositeLit{Type: list.Elt, Elts: f.Elts})
					}
				}
			}
			if nameOf(n.Type) != "Fault" {
				return
			}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && nameOf(kv.Key) == "Message" {
					t.Errorf("%s: a fault is made of words alone; use NewFault", path)
				}
			}
		}
	}
	eachSource(t, "fault_codes.go", visit)
	if len(codes) != len(ask.FaultCodes()) {
		t.Errorf("%d constants for %d codes", len(codes), len(ask.FaultCodes()))
	}
	for _, root := range []string{"../../pkg", "../../internal", "../../cmd"} {
		eachSource(t, root, visit)
	}
	for name := range codes {
		if !used[name] {
			t.Errorf("%s is used nowhere", name)
		}
	}
}

// catalogued reports whether a file is of a package where agents come in, reads what
// they send, or refuses what people do with an ask, a chat or a stand-in. Whether a
// form's host proves itself is a sentence of whoever runs the server (elicit.go).
func catalogued(path string) bool {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "../../internal/"), "../../pkg/")
	for _, dir := range []string{"board/", "bus/broker/links.go", "bus/broker/standins.go", "bus/broker/notes.go", "asking/gateway/", "asking/mcpserver/", "asking/hook/", "protocol/wire/", "protocol/cloudevent/", "process/httpserver/"} {
		if strings.HasPrefix(path, dir) {
			return path != "asking/mcpserver/elicit.go"
		}
	}
	return false
}

func eachSource(t *testing.T, root string, visit func(path string, n ast.Node)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			visit(path, n)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func TestFaultIn(t *testing.T) {
	t.Parallel()
	own := ask.NewFault("/answers/0", ask.FaultTooHigh, 12, 9)
	own.Args[ask.ArgMessage] = "At most nine nodes."
	for _, c := range []struct {
		fault                                       ask.Fault
		english, chinese, sentence, chineseSentence string
	}{
		{ask.NewFault("", ask.FaultTooHigh, 12.0, 9.5), "is 12; give at most 9.5", "是 12；请不大于 9.5", "Your answer is 12; give at most 9.5.", "你的回答是 12；请不大于 9.5。"},
		{ask.NewFault("", ask.FaultNothingChosen), "choose at least one", "请至少选择一项", "Choose at least one.", "请至少选择一项。"},
		{ask.NewFault("", ask.FaultTypedNoOption, "7", 2, "7"), `"7" is not one of the options; type a number from 1 to 2, or "other: 7" to give it as your own words`, "“7” 不在选项中；请输入 1 到 2 的编号，或输入“其他：7”，把它作为你自己的回答", `"7" is not one of the options; type a number from 1 to 2, or "other: 7" to give it as your own words.`, "“7” 不在选项中；请输入 1 到 2 的编号，或输入“其他：7”，把它作为你自己的回答。"},
		{ask.NewFault("", ask.FaultTypedNoOption, "7", 2), `"7" is not one of the options; type a number from 1 to 2`, "“7” 不在选项中；请输入 1 到 2 的编号", `"7" is not one of the options; type a number from 1 to 2.`, "“7” 不在选项中；请输入 1 到 2 的编号。"},
		{ask.NewFault("", ask.FaultNotOneOf, "", []string{"low", "normal", "high"}), `is ""; use low, normal or high`, "是 “”；请用 low、normal 或 high", `Is ""; use low, normal or high.`, "是 “”；请用 low、normal 或 high。"},
		{ask.NewFault("", ask.FaultTypedNoNumber, "{most} [x] \"%d\""), `"{most} [x] \"%d\"" is not a number; type one such as 3 or 2.5`, `“{most} [x] "%d"” 不是数字；请输入数字，例如 3 或 2.5`, `"{most} [x] \"%d\"" is not a number; type one such as 3 or 2.5.`, `“{most} [x] "%d"” 不是数字；请输入数字，例如 3 或 2.5。`},
		{own, "At most nine nodes.", "At most nine nodes.", "At most nine nodes.", "At most nine nodes."},
		{ask.Fault{Code: "of_a_newer_peer", Message: "is new"}, "is new", "is new", "Is new.", "Is new。"},
	} {
		for _, s := range [][2]string{{c.fault.In("en"), c.english}, {c.fault.In("zh-CN"), c.chinese}, {c.fault.Sentence(""), c.sentence}, {c.fault.Sentence("zh"), c.chineseSentence}} {
			if s[0] != s[1] {
				t.Errorf("%q, want %q", s[0], s[1])
			}
		}
	}
}
