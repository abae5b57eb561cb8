package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	slackapi "github.com/slack-go/slack"
)

var when = time.Date(2026, 11, 22, 10, 2, 0, 0, time.UTC)

func record(a ask.Ask) *ask.Record {
	a.Normalize()
	a.ID, a.Tenant, a.Session = "a1", "default", "s1"
	return &ask.Record{State: ask.StatePending, Ask: a, AskedAt: when, Life: "l1"}
}

func drawn(a ask.Ask) content {
	rec := record(a)
	return pendingCard(asked{Record: *rec, Life: rec.Life, Card: card.New(rec, card.Viewer{Surface: Type}, when), Link: "https://inbox.example/ask/a1", Replies: true, Mentions: []string{"U1", "S1"}})
}

func ended(rec *ask.Record) content {
	return outcomeCard(rec.Outcome.At, chat.Summarize(rec, card.New(rec, card.Viewer{Surface: Type, Shared: true}, when), literal))
}

// taken sends a card to the fake as a post and as an update: it must accept both.
func taken(t *testing.T, c content) *fakeslack.Message {
	t.Helper()
	c = fit(c)
	blocks, err := json.Marshal(c.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	m, err := fakeslack.Take(c.Text, string(blocks))
	if err != nil {
		t.Fatalf("slack refuses it: %v\n%.500s", err, blocks)
	}
	return m
}

func options10(n int, label string) []ask.Option {
	list := make([]ask.Option, n)
	for i := range list {
		list[i] = ask.Option{ID: fmt.Sprint("o", i), Label: fmt.Sprint(label, i+1)}
	}
	return list
}

func TestControls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		q    ask.Question
		want string // types of the elements, or the texts of buttons
	}{
		{"a few options are buttons", ask.Question{Text: "Which?", Options: options10(3, "Option "), NoOther: true}, "Option 1|Option 2|Option 3|Add a note…|Decline…|Open in browser"},
		{"other opens the form", ask.Question{Text: "Which?", Options: options10(2, "Option ")}, "Option 1|Option 2|Other…|Decline…|Open in browser"},
		{"long labels are numbers", ask.Question{Text: "Which?", Options: options10(2, strings.Repeat("long ", 16))}, "1|2|Other…|Decline…|Open in browser"},
		{"more than ten are a select", ask.Question{Text: "Which?", Options: options10(11, "Option ")}, "static_select|Other…|Decline…|Open in browser"},
		{"several are boxes", ask.Question{Text: "Which?", Multiple: true, Options: options10(4, "Option ")}, "checkboxes|Send|Other…|Decline…|Open in browser"},
		{"many of several are a select", ask.Question{Text: "Which?", Multiple: true, Options: options10(40, "Option ")}, "multi_static_select|Send|Other…|Decline…|Open in browser"},
		{"yes or no", ask.Question{Text: "Ready?", Kind: ask.KindBoolean}, "Yes|No|Add a note…|Decline…|Open in browser"},
		{"a text", ask.Question{Text: "Name?", Kind: ask.KindText}, "Answer…|Decline…|Open in browser"},
		{"a date", ask.Question{Text: "When?", Kind: ask.KindDate}, "Answer…|Decline…|Open in browser"},
		{"a kind of tomorrow", ask.Question{Text: "Draw?", Kind: "sketch"}, "Decline…|Open in browser"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := taken(t, drawn(ask.Ask{Questions: []ask.Question{c.q}}))
			var got []string
			for _, e := range m.Elements() {
				kind, _ := e["type"].(string)
				if kind == "button" {
					kind = fakeslack.Buttons([]fakeslack.Block{e})[0]
				}
				got = append(got, kind)
			}
			if s := strings.Join(got, "|"); s != c.want {
				t.Errorf("it has %s, want %s", s, c.want)
			}
		})
	}
}

// A destructive option asks again: its button, the button that sends boxes, a select, and the form.
func TestADestructiveOptionIsConfirmed(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]ask.Question{
		"button":        {Text: "Which?", Options: options10(2, "Option ")},
		"boxes":         {Text: "Which?", Options: options10(2, "Option "), Multiple: true},
		"static_select": {Text: "Which?", Options: options10(11, "Option ")},
	} {
		q.Options[1].Destructive = true
		one := ask.Ask{Questions: []ask.Question{q}}
		confirmed := 0
		for _, e := range taken(t, drawn(one)).Elements() {
			if e["confirm"] != nil {
				confirmed++
			}
		}
		if confirmed != 1 {
			t.Errorf("%s: %d elements ask again", name, confirmed)
		}
		rec := record(one)
		form, err := json.Marshal(answerModal(asked{Record: *rec, Life: "l1", Card: card.New(rec, card.Viewer{}, when)}, modalRef{}))
		if err == nil {
			err = fakeslack.TakeView(string(form))
		}
		if err != nil || !strings.Contains(string(form), chat.FieldSure) {
			t.Errorf("%s: the form does not ask again: %v", name, err)
		}
	}
}

// The recommended option is the primary button, a header has no raw marks, and the options of each of
// several questions are listed.
func TestWhatACardShows(t *testing.T) {
	t.Parallel()
	one := taken(t, drawn(ask.Ask{Questions: []ask.Question{{Text: "Run `make` **now**?", Options: []ask.Option{{ID: "y", Label: "Yes"}, {ID: "n", Label: "No", Recommended: true}}}}}))
	for _, e := range one.Elements() {
		if primary := e["style"] == "primary"; primary != (fakeslack.Buttons([]fakeslack.Block{e})[0] == "No") {
			t.Errorf("%v is primary: %v", fakeslack.Buttons([]fakeslack.Block{e}), primary)
		}
	}
	if text := one.Shown(); strings.Contains(text, "`") || !strings.Contains(text, "Run make now?") {
		t.Errorf("it says %q", text)
	}
	two := taken(t, drawn(ask.Ask{Questions: []ask.Question{{Text: "Which?", Options: options10(2, "Red ")}, {Text: "And which?", Options: options10(12, "Blue ")}}}))
	for _, label := range []string{"Red 2", "Blue 1", "Blue 12"} {
		if !strings.Contains(two.Shown(), label) {
			t.Errorf("%s is not shown", label)
		}
	}
}

const hostileText = "<!channel> <@U1> <https://evil.example|click> *bold* _it_ ~no~ `code` ```fence``` @here #general &lt;!here&gt; :tada: \u202ertl"

// The form says "(optional)" only where it is: a required choice with an answer of one's own lists that as an option.
// No raw marks are in it, and 40 options are a select.
func TestWhatAFormSays(t *testing.T) {
	t.Parallel()
	rec := record(ask.Ask{Questions: []ask.Question{
		{Text: "Run `make`?", Options: []ask.Option{{ID: "y", Label: "Run `make` **now**"}, {ID: "n", Label: "No"}}},
		{Text: "And which?", Options: options10(40, "Blue "), NoOther: true},
		{Text: "Which name?", Kind: ask.KindText, Optional: true},
	}})
	form := answerModal(asked{Record: *rec, Life: "l1", Card: card.New(rec, card.Viewer{}, when)}, modalRef{})
	data, err := json.Marshal(form)
	if err != nil {
		t.Fatal(err)
	}
	if err := fakeslack.TakeView(string(data)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range form.Blocks.BlockSet {
		if in, ok := b.(*slackapi.InputBlock); ok {
			got = append(got, fmt.Sprint(in.BlockID, " ", in.Element.ElementType(), " ", in.Optional))
		}
	}
	want := "q0 radio_buttons false|o0 plain_text_input true|n0 plain_text_input true|q1 static_select false|n1 plain_text_input true|q2 plain_text_input true"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("the fields are %s, want %s", s, want)
	}
	if strings.Contains(string(data), "`") || strings.Contains(string(data), "**") || !strings.Contains(string(data), "Run make now") {
		t.Errorf("it has raw marks: %s", data)
	}
}

// No text of an agent mentions, links or formats anything; all markup is ours.
func TestAgentTextIsNeverMarkup(t *testing.T) {
	t.Parallel()
	o := ask.Option{ID: "o", Label: hostileText, Description: hostileText, Preview: &ask.Preview{Body: hostileText + "\n```\n<!channel>"}}
	c := drawn(ask.Ask{
		Title: hostileText, Context: hostileText, Agent: ask.Agent{Name: hostileText, Parent: hostileText}, Audience: []string{"group:<!channel>"},
		Questions: []ask.Question{{Header: "<!here>", Text: hostileText, Options: []ask.Option{o, {ID: "p", Label: "P", Preview: &ask.Preview{Format: ask.PreviewMarkdown, Body: "- " + hostileText + "\n\n> " + hostileText + "\n\n# " + hostileText}}}}},
	})
	m := taken(t, c)
	if found := pieces(m.Blocks); len(found) < 4 || !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, "<!channel>") }) {
		t.Errorf("the prose is not there: %q", found)
	} else if i := slices.IndexFunc(found, func(p string) bool { return strings.HasPrefix(p, "not text: ") || strings.Contains(p, ":tada:") }); i >= 0 {
		t.Errorf("an agent made %s", found[i])
	}
	for _, text := range append(marked(m.Blocks), m.Text) {
		rest := text
		for _, own := range []string{"<@U1>", "<!subteam^S1>"} {
			rest = strings.Replace(rest, own, "", 1)
		}
		for strings.Contains(rest, "<!date^") {
			from := strings.Index(rest, "<!date^")
			rest = rest[:from] + rest[from+strings.IndexByte(rest[from:], '>')+1:]
		}
		if strings.ContainsAny(rest, "<>") {
			t.Errorf("markup of an agent: %q", rest)
		}
		inner := rest
		if from := strings.Index(inner, "```\n"); from >= 0 {
			body := inner[from+4 : strings.LastIndex(inner, "\n```")]
			if strings.Contains(body, "```") {
				t.Errorf("a preview ends its fence: %q", body)
			}
			continue
		}
		if strings.Contains(rest, "*bold*") || strings.Contains(rest, "`code`") || strings.Contains(rest, "@here") || strings.Contains(rest, ":tada:") {
			t.Errorf("an agent formats: %q", rest)
		}
	}
}

// pieces returns the texts of all rich text, and its non-text elements.
func pieces(v any) (found []string) {
	switch v := v.(type) {
	case []fakeslack.Block:
		for _, b := range v {
			if b["type"] == "rich_text" {
				found = append(found, pieces(b["elements"])...)
			}
		}
	case []any:
		for _, one := range v {
			found = append(found, pieces(one)...)
		}
	case map[string]any:
		if kind, _ := v["type"].(string); strings.HasPrefix(kind, "rich_text_") {
			return pieces(v["elements"])
		} else if kind != "text" {
			return []string{"not text: " + kind}
		}
		text, _ := v["text"].(string)
		return []string{text}
	}
	return found
}

func TestMarkdownBecomesRichText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ markdown, want string }{
		"paragraphs":                             {"One\\*\nline.\n\nTwo  \nlines.", `S"One* line.\n\nTwo\nlines."`},
		"styles":                                 {"a **b** *c* ~~d~~ `e` ***f***", `S"a "b"b"" "i"c"" "s"d"" "c"e"" "bi"f"`},
		"a heading":                              {"# Plan\nText", `Sb"Plan""\nText"`},
		"a list":                                 {"Do:\n- one\n- two\n  1. deeper\n  2. still\n- three", `S"Do:" bullet0[S"one" S"two"] ordered1[S"deeper" S"still"] bullet0[S"three"]`},
		"numbers":                                {"3. c\n4. d", `ordered0+2[S"c" S"d"]`},
		"code":                                   {"Run:\n```sh\nmake <x>\n```", `S"Run:" P"make <x>"`},
		"a quotation":                            {"> a\n> b\n>\n> - c", `Q"a b\n\nc"`},
		"a table":                                {"| a | b |\n|---|---|\n| 1 | 2 |", `P"| a | b |\n|---|---|\n| 1 | 2 |"`},
		"links":                                  {"[docs](https://x.example/a) and <https://y.example> ![p](z.png)", `S"docs ("c"https://x.example/a"") and "c"https://y.example"" p ("c"z.png"")"`},
		"a link whose words are another address": {"[https://github.com/acme](https://evil.example/x)", `S"https://github.com/acme ("c"https://evil.example/x"")"`},
		"HTML":                                   {"a <b>c</b>\n\n<script>x</script>", `S"a <b>c</b>\n\n<script>x</script>"`},
		"a definition of a reference":            {"[a]: b \"c\"", `S"[a]: b \"c\""`},
		"a link with a title":                    {`[docs](https://x.example "rm -rf /")`, `S"docs ("c"https://x.example rm -rf /"")"`},
		"words beside a fence":                   {"```sh ; rm -rf /\nls\n```", `P"sh ; rm -rf /\nls"`},
		"code in a quotation in a list":          {"- a\n  > ```\n  > rm -rf /\n  > ```", `bullet0[S"a\n\n\nrm -rf /"]`},
		"mentions":                               {"<!channel> <@U1> :tada:", `S"<!channel> <@U1> :` + zero + `tada:"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks := richText("", c.markdown)
			taken(t, content{Text: "x", Blocks: blocks})
			var parts []string
			for _, e := range blocks[0].(*slackapi.RichTextBlock).Elements {
				parts = append(parts, brief(e))
			}
			if got := strings.Join(parts, " "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// brief formats an element: styles by their first letters.
func brief(e slackapi.RichTextElement) string {
	texts := func(kind string, list []slackapi.RichTextSectionElement) string {
		for _, one := range list {
			text := one.(*slackapi.RichTextSectionTextElement)
			if s := text.Style; s != nil {
				for letter, on := range map[string]bool{"s": s.Strike, "c": s.Code} {
					if on {
						kind += letter
					}
				}
				if s.Bold {
					kind += "b"
				}
				if s.Italic {
					kind += "i"
				}
			}
			kind += strings.ReplaceAll(strconv.Quote(text.Text), `\u200b`, zero)
		}
		return kind
	}
	switch e := e.(type) {
	case *slackapi.RichTextSection:
		return texts("S", e.Elements)
	case *slackapi.RichTextQuote:
		return texts("Q", e.Elements)
	case *slackapi.RichTextPreformatted:
		return texts("P", e.Elements)
	case *slackapi.RichTextList:
		var entries []string
		for _, one := range e.Elements {
			entries = append(entries, brief(one))
		}
		offset := ""
		if e.Offset > 0 {
			offset = fmt.Sprint("+", e.Offset)
		}
		return fmt.Sprintf("%s%d%s[%s]", e.Style, e.Indent, offset, strings.Join(entries, " "))
	}
	return fmt.Sprintf("%T", e)
}

// marked returns all texts that Slack reads as markup.
func marked(v any) (texts []string) {
	switch v := v.(type) {
	case []fakeslack.Block:
		for _, one := range v {
			texts = append(texts, marked(one)...)
		}
	case []any:
		for _, one := range v {
			texts = append(texts, marked(one)...)
		}
	case map[string]any:
		if v["type"] == "mrkdwn" {
			text, _ := v["text"].(string)
			if v["verbatim"] != true {
				texts = append(texts, "<not verbatim> "+text)
			}
			return append(texts, text)
		}
		for _, one := range v {
			texts = append(texts, marked(one)...)
		}
	}
	return texts
}

// Facts 7, 8 and 9: Slack accepts every possible card, as a post and as an update, and every form;
// an outcome has at most 1,000 bytes, escaped, whatever was asked and answered.
func TestEverythingFits(t *testing.T) {
	t.Parallel()
	alphabet := []string{"a", "&", "<", ">", "*", "`", "長", "🚀", "\n", " ", ":", "</", "&amp;", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n# ", "\n\n", "\n```\n", "[x](", ")", "|", "\n|-|\n", "~~", "**", "\\"}
	r := rand.New(rand.NewPCG(1, 2))
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most) + 1 {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		if strings.TrimSpace(b.String()) == "" {
			return "x"
		}
		return b.String()
	}
	for round := range 24 / waittest.Fewer {
		a := ask.Ask{Title: text(300), Context: text(20_000), Agent: ask.Agent{Name: text(256)}, Audience: []string{"group:" + text(200)}}
		kinds := []ask.Kind{ask.KindChoice, ask.KindChoice, ask.KindText, ask.KindNumber, ask.KindBoolean, ask.KindDate}
		for i := range r.IntN(16) + 1 {
			q := ask.Question{ID: fmt.Sprint("q", i), Kind: kinds[r.IntN(len(kinds))], Text: text(9_000), Multiple: r.IntN(2) == 0, Optional: r.IntN(3) == 0}
			if q.Kind == ask.KindChoice {
				for j := range r.IntN(100) + 1 {
					o := ask.Option{ID: fmt.Sprint("o", j), Label: text(400), Recommended: r.IntN(4) == 0}
					if r.IntN(2) == 0 {
						o.Description = text(2_000)
					}
					if r.IntN(3) == 0 {
						o.Preview = &ask.Preview{Body: text(5_000)}
						if r.IntN(2) == 0 {
							o.Preview.Format = ask.PreviewMarkdown
						}
					}
					q.Options = append(q.Options, o)
				}
			} else {
				q.Multiple = false
			}
			a.Questions = append(a.Questions, q)
		}
		m := taken(t, drawn(a))
		if len(m.Elements()) < 2 {
			t.Fatalf("round %d: the buttons are gone", round)
		}
		rec := record(a)
		form := answerModal(asked{Record: *rec, Life: "l1", Card: card.New(rec, card.Viewer{}, when)}, modalRef{Target: chat.Ref{Key: rec.Ask.Key(), Life: "l1"}.String()})
		data, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		if err := fakeslack.TakeView(string(data)); err != nil {
			t.Fatalf("round %d: slack refuses the form: %v", round, err)
		}
		o := outcomeOf(r, &rec.Ask, text)
		rec.State, rec.Outcome = ask.StateResolved, &o
		end := ended(rec)
		shown := taken(t, end)
		if n := bytesOf(end); n > maxOutcome {
			t.Fatalf("round %d: an outcome card of %d bytes", round, n)
		}
		if shown.Live() {
			t.Fatal("an outcome card can be clicked")
		}
	}
}

// A reason of many bytes is cut, and the card and its notification still have the time and the place.
func TestALongReasonLeavesTheTimeAndThePlace(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{strings.Repeat("長い理由", 200), strings.Repeat("*&_", 200), strings.Repeat("a reason ", 200), "short"} {
		rec := record(ask.Ask{Title: strings.Repeat("見出し", 100), Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}})
		rec.State = ask.StateResolved
		rec.Outcome = &ask.Outcome{Status: ask.StatusCancelled, Reason: reason, At: when, By: &ask.By{Principal: "os:mei", Name: strings.Repeat("美", 60), Responder: "web"}}
		c := ended(rec)
		if n := bytesOf(c); n > maxOutcome {
			t.Errorf("%.9s: %d bytes", reason, n)
		}
		context, ok := c.Blocks[1].(*slackapi.ContextBlock)
		if !ok {
			t.Fatalf("%+v", c.Blocks)
		}
		words, ok := context.ContextElements.Elements[0].(*slackapi.TextBlockObject)
		if end := moment(when) + " · on the web"; !ok || !strings.HasSuffix(words.Text, end) || !strings.Contains(c.Text, end) {
			t.Errorf("%.9s: it says %+v and %q", reason, words, c.Text)
		}
		if !strings.Contains(words.Text, " declined") || !strings.Contains(c.Text, " declined") {
			t.Errorf("%.9s: it says %q and %q", reason, words.Text, c.Text)
		}
	}
}

func bytesOf(c content) int {
	n := len(c.Text)
	for _, b := range c.Blocks {
		switch b := b.(type) {
		case *slackapi.SectionBlock:
			n += len(b.Text.Text)
		case *slackapi.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				if text, ok := e.(*slackapi.TextBlockObject); ok {
					n += len(text.Text)
				}
			}
		}
	}
	return n
}

func outcomeOf(r *rand.Rand, a *ask.Ask, text func(int) string) ask.Outcome {
	statuses := []ask.Status{ask.StatusAnswered, ask.StatusCancelled, ask.StatusExpired, ask.StatusWithdrawn, ask.StatusAborted}
	o := ask.Outcome{AskID: a.ID, Status: statuses[r.IntN(len(statuses))], Source: ask.SourceHuman, Reason: text(9_000), At: when, By: &ask.By{Principal: "os:mei", Name: text(256), Responder: "web"}}
	if o.Status != ask.StatusAnswered {
		return o
	}
	for i := range a.Questions {
		ans := ask.Answer{QuestionID: a.Questions[i].ID, Notes: text(5_000)}
		if len(a.Questions[i].Options) > 0 {
			ans.Selected = []string{a.Questions[i].Options[0].ID}
			ans.Other = text(5_000)
		} else {
			ans.Text = text(60_000)
		}
		o.Answers = append(o.Answers, ans)
	}
	return o
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	rec := record(ask.Ask{Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}})
	mei := &ask.By{Principal: "os:mei", Name: "Mei", Responder: "web"}
	at := "<!date^1795341720^{time}|10:02 UTC>"
	for _, c := range []struct {
		name string
		o    ask.Outcome
		want string
	}{
		{"chosen", ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: mei, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}, "Mei chose PostgreSQL · " + at + " · on the web"},
		{"declined", ask.Outcome{Status: ask.StatusCancelled, By: mei, Reason: "too early"}, "Mei declined: too early · " + at + " · on the web"},
		{"expired", ask.Outcome{Status: ask.StatusExpired}, "Expired: nobody answered in time · " + at},
		{"a default", ask.Outcome{Status: ask.StatusExpired, Source: ask.SourceDefault, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}}, "not a person's answer"},
		{"withdrawn", ask.Outcome{Status: ask.StatusWithdrawn, Reason: "done without"}, "Withdrawn by the agent: done without · " + at},
		{"by a policy", ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourcePolicy, By: &ask.By{Principal: "policy:p"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}, "A policy, not a person, answered PostgreSQL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one := *rec
			c.o.At = when
			one.State, one.Outcome = ask.StateResolved, &c.o
			m := taken(t, ended(&one))
			if !strings.Contains(m.Shown(), c.want) || !strings.Contains(m.Shown(), "Which database?") {
				t.Errorf("it says %q, want %q", m.Shown(), c.want)
			}
		})
	}
}

func FuzzClip(f *testing.F) {
	f.Add("a&amp;b", 4)
	f.Add("長い&lt;", 5)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 1 || most > 10_000 || !utf8.ValidString(s) {
			return
		}
		e := escape(s)
		for _, c := range []string{clip(e, most), clipBytes(e, max(most, 4))} {
			body := strings.TrimSuffix(c, "…")
			if !utf8.ValidString(c) || c != e && strings.Contains(whole(body+"x"), "&") && whole(body) != body {
				t.Errorf("clip(%q, %d) = %q", e, most, c)
			}
		}
		if n := utf8.RuneCountInString(clip(e, most)); n > most {
			t.Errorf("%d characters of %d", n, most)
		}
		if n := len(clipBytes(e, max(most, 4))); n > max(most, 4) {
			t.Errorf("%d bytes of %d", n, most)
		}
	})
}

func TestTargetsRoundTrip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	for _, want := range []chat.Ref{
		{Key: ask.Key{Tenant: "default", Session: "s", ID: "a"}, Life: "l"},
		{Key: ask.Key{Tenant: long, Session: long, ID: long}, Life: "01JDZZZZZZZZZZZZZZZZZZZZZZ", Q: 15, Option: strings.Repeat("ö/", 128)},
	} {
		got, ok := chat.ParseRef(want.String())
		if !ok || got != want {
			t.Errorf("%+v came back as %+v", want, got)
		}
		if n := utf8.RuneCountInString(want.String()); n > 2000 {
			t.Errorf("a button's value of %d", n)
		}
		if n := len(want.Question() + "/more"); n > 255 {
			t.Errorf("a block's id of %d", n)
		}
	}
	for _, s := range []string{"", "a", "a/b/c/d/x", "../../x/l/1", "a b/c/d/l/0"} {
		if got, ok := chat.ParseRef(s); ok {
			t.Errorf("%q is %+v", s, got)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	r, err := ParseRoutes([]byte(`
default: {channel: C0ASKS, mention: [S0ALL]}
routes:
  - name: releases
    match: {tenant: acme, session: "release-*", priority: [urgent, high]}
    to: {channel: C0RELEASE}
  - match: {audience: ["group:dba"]}
    to: {channel: C0DBA}
  - match: {agent: "bot-?", source: remember}
    to: {person: U0MEI}
groups: {dba: S0DBA}
people: {"oidc:mei": U0MEI}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a    ask.Ask
		want string
	}{
		{ask.Ask{Tenant: "acme", Session: "release-7", Priority: ask.PriorityUrgent}, "{{C0RELEASE  []  } route releases}"},
		{ask.Ask{Tenant: "acme", Session: "release-7"}, "{{C0ASKS  [S0ALL]  } the default}"},
		{ask.Ask{Audience: []string{"group:dba", "oidc:mei"}}, "{{C0DBA  [S0DBA U0MEI]  } route number 2}"},
		{ask.Ask{Agent: ask.Agent{Name: "bot-1"}, Metadata: map[string]any{"source": "remember"}}, "{{ U0MEI []  } route number 3}"},
		{ask.Ask{Audience: []string{"oidc:mei"}}, "{{ U0MEI []  } the audience is one person}"},
		{ask.Ask{Audience: []string{"slack:T0HOME/U0TOM"}}, "{{ U0TOM []  } the audience is one person}"},
		{ask.Ask{Audience: []string{"group:unknown"}}, "{{C0ASKS  [S0ALL]  } the default}"},
	} {
		d := r.Decide(&c.a)
		if got := fmt.Sprintf("{{%s %s %v %s %s} %s}", d.Channel, d.Person, d.Mention, d.Language, d.Threads, d.Why); got != c.want || d.Nowhere {
			t.Errorf("%+v goes to %s, want %s", c.a, got, c.want)
		}
	}
	for _, c := range []struct{ yaml, want string }{
		{"routes: []", "default"},
		{"default: {channel: general}", "/default/channel"},
		{"default: {channel: C1, person: U1}", "/default"},
		{"default: {channel: C1}\nroutes: [{match: {}, to: {channel: C2}}]", "/routes/0/match"},
		{"default: {channel: C1}\nroutes: [{match: {tenent: a}, to: {channel: C2}}]", "tenent"},
		{"default: {channel: C1}\nroutes: [{match: {tenant: \"[\"}, to: {channel: C2}}]", "invalid pattern"},
		{"default: [", "YAML"},
	} {
		if _, err := ParseRoutes([]byte(c.yaml)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.yaml, err, c.want)
		}
	}
}

// lost is the context of an ask that another replica may have, before it is cancelled.
type lost struct{ context.Context } //nolint:containedctx // it is one

func (lost) Err() error { return context.Canceled }

func TestACallIsNotMadeWhenTheAskIsLost(t *testing.T) {
	t.Parallel()
	a := newAPI(&Options{}, responder.WallClock())
	err := a.call(lost{t.Context()}, "chat.postMessage", "C1", responder.Rank{}, func(context.Context) error { t.Error("it was made"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWrittenRemovesSlackMarkup(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a &lt; b &amp; c":                         "a < b & c",
		"see <https://example.com/x|example>":      "see https://example.com/x",
		"mail <mailto:mei@example.com|mei@x.org>":  "mail mei@x.org",
		"in <#C1|general> by <@U1>":                "in #general by @Mei",
		"<!subteam^S1|@dba> <!here> <@U2> <@U3|x>": "@dba @here @U2 @x",
		"until <!date^1795341720^{time}|10:02>":    "until 10:02",
	} {
		if got := written(in, func(id string) string { return map[string]string{"U1": "Mei"}[id] }); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
