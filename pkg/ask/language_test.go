package ask_test

import (
	"testing"

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
