package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestAPageIsInTheLanguageOfItsReader(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("db", database()), time.Minute)
	u := serve(t, b).signedIn(t, mei)
	for _, c := range []struct {
		name    string
		headers []string
		lang    string
		says    string
	}{
		{"nothing asked for", nil, "en", "The first answer is final."},
		{"the browser's wish", []string{"Accept-Language", "fr, zh-CN;q=0.8"}, "zh-Hans", "最先的回答即为最终结果"},
		{"a choice goes before it", []string{"Accept-Language", "zh-CN", "Cookie", "askbus_language=en"}, "en", "The first answer is final."},
		{"nonsense", []string{"Accept-Language", `"><script>`, "Cookie", "askbus_language=../../x; askbus_zone=../../etc/passwd"}, "en", "Which database"},
	} {
		page := u.do(http.MethodGet, "/", nil, c.headers...)
		if !strings.Contains(page.body, `<html lang="`+c.lang+`"`) || !strings.Contains(page.body, c.says) || page.header.Get("Content-Language") != c.lang {
			t.Errorf("%s: %s, %.400s", c.name, page.header.Get("Content-Language"), page.body)
		}
		if scripts := strings.Contains(page.body, `"just now":"刚刚"`); scripts != (c.lang != "en") {
			t.Errorf("%s: the scripts' messages are in another language", c.name)
		}
	}
	if page := u.do(http.MethodGet, "/nosuch", nil, "Accept-Language", "zh"); !strings.Contains(page.body, "没有这个页面") {
		t.Errorf("an error says %.400s", page.body)
	}
	if page := u.do(http.MethodGet, "/history", nil, "Accept-Language", "zh"); !strings.Contains(page.body, "还没有已结束的提问") {
		t.Errorf("the history says %.400s", page.body)
	}
}

func TestALanguageIsChosen(t *testing.T) {
	t.Parallel()
	u := serve(t, newBus()).signedIn(t, mei)
	if page := u.post("/language", url.Values{"language": {"zh-Hans"}, "to": {"https://elsewhere.example/"}}); page.path != "/" || !strings.Contains(page.body, "没有等你回答的提问") {
		t.Errorf("after choosing: %s, %.300s", page.path, page.body)
	}
	if page := u.get("/"); !strings.Contains(page.body, `<html lang="zh-Hans"`) {
		t.Errorf("the choice does not hold: %.200s", page.body)
	}
	if page := u.post("/language", url.Values{"language": {"xx\"><b>"}}); !strings.Contains(page.body, `<html lang="en"`) {
		t.Errorf("after nonsense: %.200s", page.body)
	}
}

func TestTextInAnotherLanguageHasALangAttribute(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(chinese(), time.Minute)
	u := serve(t, b).signedIn(t, mei)
	if page := u.get("/"); !strings.Contains(page.body, `dir="auto" lang="zh"`) {
		t.Error("a Chinese question on an English page has no language")
	}
	page := u.do(http.MethodGet, "/", nil, "Accept-Language", "zh")
	if strings.Contains(page.body, `lang="zh"`) {
		t.Error("a Chinese question on a Chinese page names its language")
	}
}
