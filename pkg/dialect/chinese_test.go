package dialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// TestAChineseAskIsToldInChinese checks, for every dialect and every row of the
// outcome table, that an agent reads about its ask in the language of its
// questions.
func TestAChineseAskIsToldInChinese(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "requests/*-basic.txtar") {
		form := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			d := byFile(t, path)
			a := basic(t, d, form)
			for i := range a.Questions {
				a.Questions[i].Text = fmt.Sprintf("第 %d 个问题：应该用哪一个？", i+1)
			}
			a.Title = ""
			var out [][2]string
			for _, row := range asktest.Outcomes(&a) {
				out = append(out, [2]string{row.Name, response(d.Answer(&a, &row.Outcome))})
			}
			out = append(out, [2]string{"still pending", response(d.Pending(&a, dialect.Pending{Location: "/v1/asks/s1/ask-1"}))})
			golden(t, "testdata/chinese/"+form+".golden", &archive{}, nil, out)
		})
	}
}

// TestAnEndWithoutAnAnswerIsNoAnswerInAnyLanguage checks that the sentence which tells an agent that
// nobody decided is not read back from a transcript as a person's answer.
func TestAnEndWithoutAnAnswerIsNoAnswerInAnyLanguage(t *testing.T) {
	t.Parallel()
	d, _ := dialect.Lookup("claude-code")
	for _, question := range []string{"Which database?", "用哪个数据库？"} {
		a := ask.Ask{ID: "ask-1", Questions: []ask.Question{{ID: "db", Text: question}}}
		a.Normalize()
		for _, row := range asktest.Outcomes(&a) {
			text, err := json.Marshal(dialect.Report(&a, &row.Outcome))
			if err != nil {
				t.Fatal(err)
			}
			want := dialect.Dismissed
			if row.Outcome.Status == ask.StatusAnswered {
				want = dialect.Replied
			}
			if given, err := d.Reply(&a, text); err != nil || given.Decision != want {
				t.Errorf("%s: %s is %v, %v", row.Name, text, given, err)
			}
		}
	}
}

// TestAChineseAskIsShownInChinese checks that askbus's own words on a foreign
// screen are in the language of the ask, and that typed text is read and
// refused in it.
func TestAChineseAskIsShownInChinese(t *testing.T) {
	t.Parallel()
	a := ask.Ask{ID: "ask-1", Tenant: "acme", Session: "s1", Title: "账本存储", Context: "账本服务需要一个存储。", Questions: []ask.Question{
		{ID: "db", Text: "用哪个数据库？", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Recommended: true}, {ID: "stop", Label: "先不做", Cancels: true}}},
		{ID: "n", Kind: ask.KindNumber, Text: "需要几个副本？", Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}},
		{ID: "pub", Kind: ask.KindBoolean, Text: "对外公开吗？"},
		{ID: "when", Kind: ask.KindDate, Text: "哪天上线？", Optional: true},
		{ID: "why", Kind: ask.KindText, Text: "还有别的要求吗？", Optional: true},
	}}
	a.Normalize()
	out := [][2]string{{"as text", a.Plain()}}
	for _, d := range dialect.All() {
		body, _ := d.ShowAt(&a, "https://askbus.example/ask/acme/s1/ask-1")
		out = append(out, [2]string{d.Name, string(body)})
	}
	for i, typed := range []string{"7", "很多", "也许", "下周", ""} {
		_, err := a.Questions[i].ParseReply(typed)
		if wrong, ok := err.(*ask.ReplyError); ok { //nolint:errorlint // returned unwrapped
			out = append(out, [2]string{"typed " + typed, wrong.In(a.Language())})
		}
	}
	golden(t, "testdata/chinese/screens.golden", &archive{}, nil, out)
}

// TestAChineseAskRefusesInChinese checks that the faults of a reply and of a
// request are in the language of the ask, with their codes.
func TestAChineseAskRefusesInChinese(t *testing.T) {
	t.Parallel()
	byID, _ := dialect.Lookup("by-id")
	a, _, err := byID.Ask([]byte(`{"questions":[{"question_id":"parts","question":"要哪些部分？","allow_multiple":true,"options":[{"id":"a","label":"甲"},{"id":"b","label":"乙"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = byID.Reply(&a, []byte(`{"status":"answered","answers":[{"question_id":"parts","selected_option_ids":[]}]}`))
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || len(e.Faults) != 1 || e.Faults[0].Message != "请至少选择一项" || e.Faults[0].Code != ask.FaultNothingChosen || e.Faults[0].QuestionID != a.Questions[0].ID {
		t.Errorf("%+v", err)
	}
	_, _, err = byID.Ask([]byte(`{"questions":[{"question_id":"parts","question":"要哪些部分？","options":[]}]}`))
	if e, ok = errors.AsType[*ask.Error](err); !ok || len(e.Faults) != 1 || e.Faults[0].Message != "是空的；请给出至少一个选项" || e.Faults[0].Code != ask.FaultEmptyList {
		t.Errorf("%+v", err)
	}
}

// TestEverySentenceIsTranslated checks that the table has exactly the sentences
// of the package, with the same verbs.
func TestEverySentenceIsTranslated(t *testing.T) {
	t.Parallel()
	table, said := map[string]string{}, map[string]bool{}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "say" && len(n.Args) > 1 {
					text, ok := word(n.Args[1])
					if said[text] = true; !ok {
						t.Errorf("%s: say is called without a literal", file)
					}
				}
			case *ast.KeyValueExpr:
				key, one := word(n.Key)
				if value, two := word(n.Value); one && two && file == "chinese.go" {
					table[key] = value
				}
			}
			return true
		})
	}
	verbs := regexp.MustCompile(`%[a-z]`)
	for text := range said {
		if table[text] == "" {
			t.Errorf("%q is not translated", text)
		}
	}
	for text, chinese := range table {
		if !said[text] || !slices.Equal(verbs.FindAllString(text, -1), verbs.FindAllString(chinese, -1)) {
			t.Errorf("%q, %q: it is unused, or its verbs differ", text, chinese)
		}
	}
}

func word(n ast.Expr) (string, bool) {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}
