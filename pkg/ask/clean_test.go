package ask_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

func TestCleanText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"plain text":                     {"Which database?\n\tPostgres", "Which database?\n\tPostgres"},
		"colours":                        {"\x1b[1;31mred\x1b[0m", "red"},
		"a control sequence of C1":       {"\u009b2Jgone", "gone"},
		"a title stays and is seen":      {"\x1b]0;owned\x07text", "]0;ownedtext"},
		"a hyperlink shows where":        {"\x1b]8;;http://evil\x1b\\bank\x1b]8;;\x1b\\", "]8;;http://evil\\bank]8;;\\"},
		"a sequence that never ends":     {"\x1b[12", "[12"},
		"text cannot hide in a sequence": {"\x1b[" + strings.Repeat("1;", 40) + "m", "[" + strings.Repeat("1;", 40) + "m"},
		"line and tab in a sequence":     {"\x1b[\n1", "[\n1"},
		"controls":                       {"a\x00b\x08c\x7fd\u0080e\vf", "abcdef"},
		"line ends":                      {"a\r\nb\rc\u0085d\u2028e\u2029f", "a\nb\nc\nd\ne\nf"},
		"bidi overrides and isolates":    {"a\u202eb\u202cc\u2066d\u2069e", "abcde"},
		"direction marks":                {"a\u200eb\u200fc\u061cd", "abcd"},
		"zero width":                     {"a\u200bb\u2060c\ufeffd\u00ade", "abcde"},
		"joiners between other letters":  {"pa\u200dy\u200cpal", "paypal"},
		"tags":                           {"a\U000E0001\U000E0068\U000E0069\U000E007Fb", "ab"},
		"a flag with tags becomes black": {"🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", "🏴"},
		"fillers":                        {"a\u3164b\uffa0c\u115fd\u034fe", "abcde"},
		"notes between lines":            {"a\ufff9b\ufffac\ufffb", "abc"},
		"a family":                       {"👨‍👩‍👧‍👦!", "👨‍👩‍👧‍👦!"},
		"a woman at a computer, brown":   {"👩🏽‍💻", "👩🏽‍💻"},
		"emoji with a selector":          {"❤️‍🔥 1️⃣ ©️ ☎︎", "❤️‍🔥 1️⃣ ©️ ☎︎"},
		"a shaking head":                 {"🙂‍↔️", "🙂‍↔️"},
		"joiners at the end of an emoji": {"💻\u200d", "💻"},
		"two joiners":                    {"👩\u200d\u200d💻", "👩\u200d💻"},
		"data in selectors":              {"😀\ufe00\ufe01\ufe02\U000E0100\U000E0101", "😀\ufe00"},
		"selectors after letters":        {"a\ufe0fb", "ab"},
		"a form of an ideograph":         {"葛\U000E0100城", "葛\U000E0100城"},
		"Persian":                        {"می\u200cخواهم", "می\u200cخواهم"},
		"Hindi":                          {"क्\u200dष", "क्\u200dष"},
		"a joiner at the end of Persian": {"می\u200c ", "می "},
		"Arabic number signs":            {"\u06dd\u0660", "\u06dd\u0660"},
		"invalid UTF-8":                  {"a\x9b2Jb\xff", "a\ufffd2Jb\ufffd"},
		"Chinese and accents":            {"数据库 naïve e\u0301", "数据库 naïve e\u0301"},
	} {
		if got := ask.CleanText(c.text); got != c.want {
			t.Errorf("%s: %+q becomes %+q, want %+q", name, c.text, got, c.want)
		}
	}
}

func TestCleanLine(t *testing.T) {
	t.Parallel()
	if got := ask.CleanLine(" a\n\tb\u2028c \x1b[2J d\r\n"); got != "a b c d" {
		t.Errorf("%+q", got)
	}
}

func TestCleanJSON(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"a":"b"}`:                          `{"a":"b"}`,
		"{\n\t\"a\": \"数据库 😀\"\r\n}":         "{\n\t\"a\": \"数据库 😀\"\r\n}",
		"\"\u009b2J\u007f\u202e\u2028\"":     `"\u009b2J\u007f\u202e\u2028"`,
		"\"\U000E0041\u200d\u00e9\"":         `"\udb40\udc41\u200dé"`,
		"\"\x9b\"":                           "\"\ufffd\"",
		"\"\\u009b stays as it is written\"": "\"\\u009b stays as it is written\"",
	} {
		if got := string(ask.CleanJSON([]byte(doc))); got != want {
			t.Errorf("%+q becomes %+q, want %+q", doc, got, want)
		}
	}
}

// FuzzCleanText checks that clean text has no control or invisible characters
// and that cleaning is idempotent.
func FuzzCleanText(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\x1b[31mred\x1b]0;t\x07", "👩‍💻", "می\u200cخواهم", "a\u202eb\u2066", "\x9b\r\n\U000E0041", "ᠠ\u180b\u200d\u180b", "❤\ufe0f\u200d\ufe0f\u200d🔥"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := ask.CleanText(s)
		if !utf8.ValidString(clean) {
			t.Errorf("%+q: invalid UTF-8: %+q", s, clean)
		}
		for _, r := range clean {
			switch {
			case r == '\n', r == '\t', r == '\u200c', r == '\u200d', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
				t.Errorf("%+q: %+q remains in %+q", s, r, clean)
			}
		}
		if again := ask.CleanText(clean); again != clean {
			t.Errorf("%+q: twice gives %+q, once %+q", s, again, clean)
		}
		if line := ask.CleanLine(s); strings.ContainsAny(line, "\n\t") || ask.CleanLine(line) != line {
			t.Errorf("%+q: line %+q", s, line)
		}
	})
}

// FuzzCleanJSON checks that the values stay the same and that nothing remains
// to be cleaned.
func FuzzCleanJSON(f *testing.F) {
	for _, s := range []string{"", "\u009b2J\u202e", "😀\U000E0041", "a\x7f\u2028\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		doc, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		clean := ask.CleanJSON(doc)
		var was, is map[string]string
		if json.Unmarshal(doc, &was) != nil || json.Unmarshal(clean, &is) != nil || len(is) != 1 {
			t.Fatalf("%+q: %s", doc, clean)
		}
		for k, v := range was {
			if is[k] != v {
				t.Errorf("%+q became %+q", doc, clean)
			}
		}
		if !bytes.Equal([]byte(ask.CleanText(string(clean))), clean) {
			t.Errorf("%+q became %+q, which is not clean", doc, clean)
		}
	})
}
