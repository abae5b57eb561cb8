package ask_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/askbus/askbus/pkg/ask"
)

func TestLanguageOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "42 %": "", "Which database?": "", "用 PostgreSQL 还是 SQLite？": "zh", "用哪个？": "zh",
		"どのデータベースを使いますか": "ja", "어느 데이터베이스": "ko", "أي قاعدة بيانات": "ar", "באיזה מסד": "he", "Какую базу": "ru", "Ποια βάση": "el", "ฐานข้อมูล": "th",
		"Shall the page be called 首页 in the navigation bar?": "", "数据库を選ぶ": "ja", "Welche Datenbank soll es sein?": "",
	} {
		if got := ask.LanguageOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	a := ask.Ask{Title: "Ledger", Questions: []ask.Question{{Text: "账本服务应该使用哪个数据库？"}}}
	if got := a.Language(); got != "zh" {
		t.Errorf("%q", got)
	}
	a.Questions[0].Text = "Which database?"
	if got := a.Language(); got != "en" {
		t.Errorf("%q", got)
	}
}

func han(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// TestEverySentenceIsTranslated checks that each format used for typed text and
// answers has a Chinese translation that keeps its values.
func TestEverySentenceIsTranslated(t *testing.T) {
	t.Parallel()
	said := 0
	// Parts of sentences, which are only tested whole, and names of fields.
	pieces := []string{"selected or other", "%s; choose at least %d", "%s; choose at most %d", "1 is chosen", " are chosen"}
	for _, whole := range []string{"1 is chosen; choose at least 2", "3 are chosen; choose at most 2"} {
		if !han(ask.Translate("zh", whole)) {
			t.Errorf("%q is not translated", whole)
		}
	}
	for _, file := range []string{"check.go", "text_reply.go", "text_choice.go", "proof.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(l.Value)
			if err != nil || !regexp.MustCompile(`\p{L}{2,} \p{L}{2,}`).MatchString(text) || strings.Contains(text, "[0-9]") || slices.Contains(pieces, text) {
				return true
			}
			said++
			english := strings.NewReplacer("%q", `"a b"`, "%d", "7", "%s", "a, b", "%v", "2.5").Replace(text)
			if got := ask.Translate("zh", english); got == english || !han(got) || strings.Contains(got, "%!") {
				t.Errorf("%s: %q comes out as %q", file, english, got)
			}
			return true
		})
	}
	if said < 35 {
		t.Errorf("found only %d sentences", said)
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	for english, want := range map[string]string{
		"is 12; give at most 9":              "是 12；请不大于 9",
		"Your answer is 12; give at most 9.": "你的回答是 12；请不大于 9。",
		`"7" is not one of the options; type a number from 1 to 2, or "other: 7" to give it as your own words.`: "“7” 不在选项中；请输入 1 到 2 的编号，或输入“其他：7”，把它作为你自己的回答。",
		"Only a word of the asker.": "Only a word of the asker.",
		"":                          "",
		`"Please give an answer." is not a number; type one such as 3 or 2.5.`: "“Please give an answer.” 不是数字；请输入数字，例如 3 或 2.5。",
	} {
		if got := ask.Translate("zh-Hans", english); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := ask.Translate("en", english); got != english {
			t.Errorf("%q became %q in English", english, got)
		}
	}
}

// FuzzTranslate checks that no text of an agent or a person breaks a sentence.
func FuzzTranslate(f *testing.F) {
	f.Add(`"%d" is not one of the options; type a number from 1 to 3.`)
	f.Add("is %!s(MISSING); give at least 1")
	f.Fuzz(func(t *testing.T, s string) {
		if got := ask.Translate("zh", s); strings.Contains(got, "%!") && !strings.Contains(s, "%!") {
			t.Errorf("%q became %q", s, got)
		}
		ask.LanguageOf(s)
	})
}
