package ask_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// choice returns a choice question; an option is "id=label" or just a label.
func choice(multiple, other bool, options ...string) *ask.Question {
	q := ask.Question{ID: "q", Text: "Which?", Kind: ask.KindChoice, Multiple: multiple, NoOther: !other}
	for i, o := range options {
		id, label, ok := strings.Cut(o, "=")
		if !ok {
			id, label = fmt.Sprint("o", i+1), o
		}
		q.Options = append(q.Options, ask.Option{ID: id, Label: label})
	}
	return &q
}

func TestTypedTextBecomesAnAnswer(t *testing.T) {
	t.Parallel()
	dbs := []string{"pg=PostgreSQL", "lite=SQLite", "my=MySQL, managed"}
	one, own := choice(false, false, dbs...), choice(false, true, dbs...)
	some, more := choice(true, false, dbs...), choice(true, true, dbs...)
	whole := &ask.Question{ID: "q", Kind: ask.KindNumber, Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}}
	number := &ask.Question{ID: "q", Kind: ask.KindNumber}
	boolean := &ask.Question{ID: "q", Kind: ask.KindBoolean, Optional: true}
	date := &ask.Question{ID: "q", Kind: ask.KindDate, Limits: ask.Limits{MinDate: "2026-11-20"}}
	text := &ask.Question{ID: "q", Kind: ask.KindText, Limits: ask.Limits{MinLength: 2, Message: "Two letters at least."}}
	selected := func(ids ...string) ask.Answer { return ask.Answer{QuestionID: "q", Selected: ids} }
	for _, c := range []struct {
		name string
		q    *ask.Question
		text string
		want ask.Answer
		say  string
	}{
		{"an exact id", one, "pg", selected("pg"), ""},
		{"an exact label", one, " SQLite ", selected("lite"), ""},
		{"a number", one, "2", selected("lite"), ""},
		{"a number as it is shown", one, "2.", selected("lite"), ""},
		{"a full-width number", one, "２", selected("lite"), ""},
		{"an Arabic number", one, "٢", selected("lite"), ""},
		{"a part of a label", one, "post", selected("pg"), ""},
		{"another case", one, "SQLITE", selected("lite"), ""},
		{"another width", one, "ｐｏｓｔｇｒｅｓ", selected("pg"), ""},
		{"an ambiguous part", one, "sql", ask.Answer{}, `"sql" fits 3 options: "PostgreSQL", "SQLite", "MySQL, managed". Type the number of one.`},
		{"an unknown option", one, "Oracle", ask.Answer{}, `"Oracle" is not one of the options; type a number from 1 to 3.`},
		{"a number too high", one, "4", ask.Answer{}, `"4" is not one of the options; type a number from 1 to 3.`},
		{"two where one", one, "1,2", ask.Answer{}, `"1,2" is not one of the options; type a number from 1 to 3.`},
		{"nothing", one, "  ", ask.Answer{}, "Please give an answer."},
		{"words of their own", own, "Oracle 23", ask.Answer{QuestionID: "q", Other: "Oracle 23"}, ""},
		{"a number too high is not their own words", own, "7", ask.Answer{}, `"7" is not one of the options; type a number from 1 to 3, or "other: 7" to give it as your own words.`},
		{"nor is zero", own, "(0)", ask.Answer{}, `"(0)" is not one of the options; type a number from 1 to 3, or "other: (0)" to give it as your own words.`},
		{"nor is a port", own, "8080", ask.Answer{}, `"8080" is not one of the options; type a number from 1 to 3, or "other: 8080" to give it as your own words.`},
		{"unless it says so", own, "other: 7", ask.Answer{QuestionID: "q", Other: "7"}, ""},
		{"but a number with a unit is", own, "7 days", ask.Answer{QuestionID: "q", Other: "7 days"}, ""},
		{"a number that is a part of a label", choice(false, true, "PostgreSQL 17", "SQLite"), "17", selected("o1"), ""},
		{"ambiguous, with a way out", own, "sql", ask.Answer{}, `"sql" fits 3 options: "PostgreSQL", "SQLite", "MySQL, managed". Type the number of one, or "other: sql" to give it as your own words.`},
		{"the way out", own, "Other: sql", ask.Answer{QuestionID: "q", Other: "sql"}, ""},
		{"the way out in Chinese", own, "其他：sql", ask.Answer{QuestionID: "q", Other: "sql"}, ""},
		{"the whole text first, though it has a comma", some, "mysql, managed", selected("my"), ""},
		{"several by commas", some, "1, lite", selected("pg", "lite"), ""},
		{"several by full-width commas", some, "１，３", selected("pg", "my"), ""},
		{"several by ideographic commas", some, "PostgreSQL、SQLite", selected("pg", "lite"), ""},
		{"several by spaces", some, "1 3", selected("pg", "my"), ""},
		{"one twice counts once", some, "1,pg,1", selected("pg"), ""},
		{"an ambiguous part among several", some, "1,sql", ask.Answer{}, `"sql" fits 3 options: "PostgreSQL", "SQLite", "MySQL, managed". Type the number of one.`},
		{"a wrong one among several", some, "1,9", ask.Answer{}, `"9" is not one of the options; type a number from 1 to 3.`},
		{"a wrong word among several", some, "1 x", ask.Answer{}, `"x" is not one of the options; type a number from 1 to 3.`},
		{"only commas", some, ",,", ask.Answer{}, `",," is not one of the options; type a number from 1 to 3.`},
		{"an option and words of their own", more, "1, Oracle", ask.Answer{QuestionID: "q", Selected: []string{"pg"}, Other: "Oracle"}, ""},
		{"a number too high among several", more, "1, 9", ask.Answer{}, `"9" is not one of the options; type a number from 1 to 3, or "other: 9" to give it as your own words.`},
		{"also with spaces", more, "1 9", ask.Answer{}, `"9" is not one of the options; type a number from 1 to 3, or "other: 9" to give it as your own words.`},
		{"and where nothing else is said", more, "8, 9", ask.Answer{}, `"8" is not one of the options; type a number from 1 to 3, or "other: 8" to give it as your own words.`},
		{"numbers in a sentence are its own", more, "use ports 80, 443", ask.Answer{QuestionID: "q", Other: "use ports 80, 443"}, ""},
		{"a sentence chooses nothing", more, "please take what is managed", ask.Answer{QuestionID: "q", Other: "please take what is managed"}, ""},
		{"a sentence with a comma chooses nothing", more, "I would say post, and quickly", ask.Answer{QuestionID: "q", Other: "I would say post, and quickly"}, ""},
		{"numbers with spaces choose, Other or not", more, "1 2", selected("pg", "lite"), ""},
		{"a whole number", whole, "３", ask.Answer{QuestionID: "q", Number: new(3.0)}, ""},
		{"a number out of range", whole, "10", ask.Answer{}, "Your answer is 10; give at most 9."},
		{"a fraction", whole, "2.5", ask.Answer{}, "Your answer is 2.5; give a whole number."},
		{"a fraction", number, "-.5e1", ask.Answer{QuestionID: "q", Number: new(-5.0)}, ""},
		{"a minus of typography", number, "−3", ask.Answer{QuestionID: "q", Number: new(-3.0)}, ""},
		{"a decimal comma", number, "2,5", ask.Answer{QuestionID: "q", Number: new(2.5)}, ""},
		{"a decimal comma after nothing", number, "0,125", ask.Answer{QuestionID: "q", Number: new(0.125)}, ""},
		{"a number with a comma is not guessed", number, "1,000", ask.Answer{}, `"1,000" is not a number; type one such as 3 or 2.5.`},
		{"infinity", number, "Inf", ask.Answer{}, `"Inf" is not a number; type one such as 3 or 2.5.`},
		{"too large a number", number, "1e999", ask.Answer{}, `"1e999" is not a number; type one such as 3 or 2.5.`},
		{"yes", boolean, "Y", ask.Answer{QuestionID: "q", Boolean: new(true)}, ""},
		{"yes in Chinese", boolean, "是", ask.Answer{QuestionID: "q", Boolean: new(true)}, ""},
		{"no", boolean, "FALSE", ask.Answer{QuestionID: "q", Boolean: new(false)}, ""},
		{"no in Chinese", boolean, "否", ask.Answer{QuestionID: "q", Boolean: new(false)}, ""},
		{"no by its number", boolean, "2", ask.Answer{QuestionID: "q", Boolean: new(false)}, ""},
		{"maybe", boolean, "maybe", ask.Answer{}, `"maybe" is neither yes nor no.`},
		{"skipped", boolean, "", ask.Answer{QuestionID: "q", Skipped: true}, ""},
		{"a date", date, "2026-12-01", ask.Answer{QuestionID: "q", Date: "2026-12-01"}, ""},
		{"a date with slashes", date, "2026/12/1", ask.Answer{QuestionID: "q", Date: "2026-12-01"}, ""},
		{"a Chinese date", date, "２０２６年12月1日", ask.Answer{QuestionID: "q", Date: "2026-12-01"}, ""},
		{"a date too early", date, "2026-11-19", ask.Answer{}, "Your answer is 2026-11-19; give 2026-11-20 or later."},
		{"a date that does not exist", date, "2026-02-30", ask.Answer{}, `"2026-02-30" is not a day of the calendar.`},
		{"not a date", date, "tomorrow", ask.Answer{}, `"tomorrow" is not a date; type one such as 2026-11-20.`},
		{"a text", text, "  as it is, 1 ", ask.Answer{QuestionID: "q", Text: "as it is, 1"}, ""},
		{"a text against its limit", text, "x", ask.Answer{}, "Two letters at least."},
		{"an id before a label", choice(false, false, "1=a", "2=1"), "1", selected("1"), ""},
		{"a label before a number", choice(false, false, "a=2", "b=1"), "1", selected("b"), ""},
		{"an exact label before a part", choice(false, false, "Go", "Golang"), "go", selected("o1"), ""},
		{"labels that differ by case only", choice(false, false, "go", "Go"), "Go", selected("o2"), ""},
		{"half-width kana", choice(false, false, "データベース", "ファイル"), "ﾃﾞｰﾀ", selected("o1"), ""},
		{"half-width kana with a half mark", choice(false, false, "パーク", "バーク"), "ﾊﾟｰｸ", selected("o1"), ""},
		{"right to left, with invisible marks", choice(false, false, "نعم الآن", "لا"), "\u200fنعم", selected("o1"), ""},
		{"emoji with and without their variation", choice(false, false, "❤️ yes", "💔 no"), "❤", selected("o1"), ""},
		{"the only option", choice(false, false, "Fine"), "x", ask.Answer{}, `"x" is not the option; type 1 to choose it.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.q.ParseReply(c.text)
			var wrong *ask.ReplyError
			switch {
			case c.say == "" && err != nil:
				t.Error(err)
			case c.say != "" && (!errors.As(err, &wrong) || !errors.Is(err, ask.ErrInvalid) || wrong.Error() != c.say || wrong.QuestionID != "q"):
				t.Errorf("got  %v\nwant %s", err, c.say)
			case !reflect.DeepEqual(got, c.want):
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestTypedTextAnswersAWholeAsk(t *testing.T) {
	t.Parallel()
	a := normalized()
	r, err := a.ParseReply("db=2\n parts = 1,3\n3=4\nname=abc\n")
	want := []ask.Answer{
		{QuestionID: "db", Selected: []string{"lite"}},
		{QuestionID: "parts", Selected: []string{"o1", "o3"}},
		{QuestionID: "n", Number: new(4.0)},
		{QuestionID: "name", Text: "abc"},
	}
	if err != nil || !reflect.DeepEqual(r.Answers, want) {
		t.Errorf("%v: %+v", err, r.Answers)
	}
	if r, err := a.ParseReply("whatever you think"); err != nil || r.Response != "whatever you think" {
		t.Errorf("%v: %+v", err, r)
	}
	for text, say := range map[string]string{
		"bd=2":       `"bd" is not a question; the questions are db, parts, n, name, tls, from.`,
		"db=2\ndb=1": `Question "db" is answered twice; answer it once.`,
		"n=x":        `"x" is not a number; type one such as 3 or 2.5.`,
	} {
		if _, err := a.ParseReply(text); err == nil || err.Error() != say {
			t.Errorf("%q: %v", text, err)
		}
	}
	one := &ask.Ask{Questions: []ask.Question{*choice(false, false, "a", "b")}}
	for _, text := range []string{"2", "q=2", " q = b"} {
		if r, err := one.ParseReply(text); err != nil || r.Answers[0].Selected[0] != "o2" {
			t.Errorf("%q: %v, %+v", text, err, r)
		}
	}
}

func TestPlainTextHasNoTerminalSequences(t *testing.T) {
	t.Parallel()
	q := choice(false, true, "a\n  2. forged", "\x1b[31mred\x07")
	q.Text, q.Header = "Which?\x1b[2J\u0085", "a\nb"
	got := q.Plain()
	if strings.ContainsAny(got, "\x1b\x07\u0085") || strings.Count(got, "\n") != 3 {
		t.Errorf("%q", got)
	}
}

// An agent's text cannot add an option, another question or an instruction.
func TestPlainTextQuotesWhatLooksLikeItsOwnLines(t *testing.T) {
	t.Parallel()
	const hostile = "Which?\n  3. Delete everything\r\n[q2] Sure?\u2028  1. Yes\nChoose one: type 3."
	q := choice(false, false, "a", "b")
	q.Text = hostile
	one := ask.Ask{Title: "t", Context: hostile, Questions: []ask.Question{*q}}
	for name, text := range map[string]string{"question": q.Plain(), "ask": one.Plain()} {
		for line := range strings.Lines(text) {
			forged := strings.Contains(line, "Delete") || strings.Contains(line, "Sure?") || strings.Contains(line, "Yes") || strings.Contains(line, "type 3")
			if forged && !strings.HasPrefix(line, "> ") {
				t.Errorf("%s: %q passes for a line of the form in\n%s", name, line, text)
			}
		}
	}
}

// FuzzParseReply checks that no text panics, that an accepted answer fits its
// question, and that every option can be chosen by its id, its number and, if
// it is unique, its label.
func FuzzParseReply(f *testing.F) {
	for _, text := range []string{"", "1", "a,b", "a，b、c", "ａ", "other: x", "1 2", "ﾃﾞ", "\xff", "=", "是", "2026-11-20", "1e9", strings.Repeat("a,", 500)} {
		f.Add(text, "a", "b, c", true, false)
		f.Add(text, "Go", "Golang", false, true)
		f.Add(text, text, "x"+text, true, true)
	}
	f.Fuzz(func(t *testing.T, text, one, two string, multiple, other bool) {
		a := &ask.Ask{ID: "x", Questions: []ask.Question{
			{ID: "c", Text: "?", Kind: ask.KindChoice, Multiple: multiple, NoOther: !other, Options: []ask.Option{{ID: "i1", Label: one}, {ID: "i2", Label: two}}},
			{ID: "n", Text: "?", Kind: ask.KindNumber},
			{ID: "b", Text: "?", Kind: ask.KindBoolean},
			{ID: "d", Text: "?", Kind: ask.KindDate},
			{ID: "t", Text: "?", Kind: ask.KindText, Optional: true},
		}}
		if a.Validate(now) != nil {
			return
		}
		_ = a.Plain()
		_, _ = a.ParseReply(text)
		for i := range a.Questions {
			alone := &ask.Ask{ID: "x", Questions: a.Questions[i : i+1]}
			ans, err := a.Questions[i].ParseReply(text)
			if err != nil {
				if !errors.Is(err, ask.ErrInvalid) || err.Error() == "" {
					t.Fatalf("the error is %v", err)
				}
				continue
			}
			if _, _, err := alone.Check(ask.Reply{Answers: []ask.Answer{ans}}); err != nil {
				t.Fatalf("%q becomes %+v: %v", text, ans, err)
			}
		}
		q := &a.Questions[0]
		for _, o := range q.Options {
			if ans, err := q.ParseReply(o.ID); err != nil || !reflect.DeepEqual(ans.Selected, []string{o.ID}) {
				t.Fatalf("the id %q gives %+v, %v", o.ID, ans, err)
			}
			if label := strings.TrimSpace(o.Label); label != "i1" && label != "i2" && !strings.ContainsAny(label, ":：") {
				if ans, err := q.ParseReply(label); err != nil || !reflect.DeepEqual(ans.Selected, []string{o.ID}) {
					t.Fatalf("the label %q gives %+v, %v", label, ans, err)
				}
			}
		}
	})
}

func ExampleAsk_Plain() {
	a := ask.Ask{ID: "deploy", Title: "Ledger storage", Questions: []ask.Question{
		{ID: "db", Header: "Storage", Text: "Which database should the ledger use?", Options: []ask.Option{
			{Label: "PostgreSQL", Description: "already deployed", Recommended: true},
			{Label: "SQLite", Preview: &ask.Preview{Body: "ledger.db\n"}},
			{Label: "Neither", Cancels: true},
		}},
		{ID: "n", Text: "How many replicas?", Kind: ask.KindNumber, Limits: ask.Limits{Min: new(float64), Integer: true}, Optional: true},
		{ID: "tls", Text: "Encrypt?", Kind: ask.KindBoolean},
	}}
	a.Normalize()
	fmt.Println(a.Plain())
	// Output:
	// Ledger storage
	//
	// [db] Storage: Which database should the ledger use?
	//   1. PostgreSQL (recommended) - already deployed
	//   2. SQLite
	//      | ledger.db
	//   3. Neither (ends the whole ask)
	// Choose one: type its number or a part of its label. Or type an answer of your own.
	//
	// [n] How many replicas?
	// Type a whole number, at least 0. An empty answer skips it.
	//
	// [tls] Encrypt?
	//   1. Yes
	//   2. No
	// Type yes or no.
	//
	// Answer with one line a question, such as db=…
}

func ExampleQuestion_ParseReply() {
	q := ask.Question{ID: "db", Text: "Which?", Kind: ask.KindChoice, Multiple: true, NoOther: true, Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}
	for _, text := range []string{"１、sqlite", "sql"} {
		ans, err := q.ParseReply(text)
		fmt.Println(ans.Selected, err)
	}
	// Output:
	// [pg lite] <nil>
	// [] "sql" fits 2 options: "PostgreSQL", "SQLite". Type the number of one.
}
