package dialect

import (
	"errors"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// geminiHeader is the maximum length of a header there.
const geminiHeader = 16

// geminiAsk reads the arguments of ask_user.
func geminiAsk(b *builder, v value) {
	v.body()
	v.ignore("unconstrainedHeight") // the height of the CLI's dialog
	b.times(v)
	b.questions(v.field("questions"), func(i int, v value) {
		q := ask.Question{
			Text: v.field("question").need(), Header: b.longHeader(v.field("header"), i, geminiHeader),
			Placeholder: v.field("placeholder").string(), Multiple: v.multiple(),
		}
		switch typ := v.field("type").string(); typ {
		case "", "choice":
			q.Kind, q.Options = ask.KindChoice, b.options(v.field("options"))
			if len(q.Options) == 0 {
				v.field("options").fault(ask.FaultEmptyList, "options_or_use_type_text")
			}
		case "text":
			q.Kind = ask.KindText
		case "yesno":
			q.Kind = ask.KindBoolean
		default:
			v.field("type").fault(ask.FaultNotOneOf, clip(typ), "choice, text, yesno")
		}
		if q.Kind != ask.KindChoice {
			v.single(&q)
		}
		b.add(q, place{at: v.at, fields: map[string]string{"text": "question", "multiple": "multiSelect", "kind": "type"}})
	})
}

// geminiAnswer writes text: the bare answer to one question, or a numbered line
// for each of several. Labels with commas are written as a JSON array.
func geminiAnswer(a *ask.Ask, o *ask.Outcome) Response {
	var lines []string
	r := rowOf(o)
	if words := beside(a, o); words != "" {
		lines = append(lines, words)
	}
	switch {
	case r == rowResponse:
		lines = append(lines, o.Response)
	case r.decided():
		for i := range a.Questions {
			lines = append(lines, geminiLine(a, o, i))
		}
		if aside := asides(a, o, ""); aside != "" {
			lines = append(lines, aside)
		}
	}
	return Response{Status: 200, Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"}, Body: []byte(strings.Join(lines, "\n"))}
}

// geminiToolAnswer writes what the tool itself returns to the model: a JSON
// string in place of llmContent. An ask without answers was dismissed, in the
// tool's own words.
func geminiToolAnswer(a *ask.Ask, o *ask.Outcome) Response {
	if !rowOf(o).decided() {
		return respond(200, ordered("answers", ordered(), "cancelled", true, "text", "User dismissed ask_user dialog without answering. "+sentence(a, o)))
	}
	answers := ordered()
	for i := range a.Questions {
		q := &a.Questions[i]
		if rowOf(o) == rowResponse {
			answers.set(key(i), o.Response)
			continue
		}
		if ans := answerTo(o, q); ans != nil {
			answers.set(key(i), geminiWords(q, *ans))
		}
	}
	body := ordered("answers", answers)
	body.setText("text", remarks(a, o, ""))
	return respond(200, body)
}

// geminiWords returns an answer as text. Labels with commas are a JSON array.
func geminiWords(q *ask.Question, ans ask.Answer) string {
	if blurs(q, ans, claudeCodeSeparator) {
		return string(encode(q.Labels(ans)))
	}
	return q.Words(ans)
}

func geminiLine(a *ask.Ask, o *ask.Outcome, i int) string {
	said := "(not answered)"
	if ans := answerTo(o, &a.Questions[i]); ans != nil {
		said = geminiWords(&a.Questions[i], *ans)
	}
	if len(a.Questions) == 1 {
		return said
	}
	return geminiHead(a, i) + strings.ReplaceAll(said, "\n", "\n  ")
}

func geminiHead(a *ask.Ask, i int) string { return strconv.Itoa(i+1) + ". " + header(a, i) + ": " }

// geminiPending says that the ask waits.
func geminiPending(a *ask.Ask, p Pending) Response {
	r := pending(nil, p)
	r.Header["Content-Type"] = "text/plain; charset=utf-8"
	r.Body = []byte("pending: " + p.hint(a))
	return r
}

// geminiShow writes any ask as ask_user.
func geminiShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		typed := q.Kind == ask.KindBoolean
		shown := ordered("question", s.text(a, i, typed), "header", header(a, i), "type", "text")
		switch q.Kind {
		case ask.KindChoice:
			shown.set("type", "choice")
			shown.set("options", s.familyOptions(a, i, claudeCodeSeparator, false))
			shown.set("multiSelect", q.Multiple)
		case ask.KindBoolean:
			shown.set("type", "yesno")
		case ask.KindText, ask.KindNumber, ask.KindDate:
		}
		shown.setText("placeholder", q.Placeholder)
		questions = append(questions, shown)
	}
	return encode(ordered("questions", questions)), s.warnings
}

// geminiReply reads text in the form of geminiAnswer, or the JSON of the CLI's
// own screen: { answers: { "0": "…" } }.
func geminiReply(a *ask.Ask, body []byte) (Given, *reader) {
	r := &reader{what: "gemini answer"}
	given := Given{Decision: Replied}
	if v, err := (&reader{}).parse(body); err == nil && typeName(v.raw) == "object" {
		v.r = r
		answers := v.field("answers")
		var keys []string
		for i := range a.Questions {
			keys = append(keys, key(i))
			given.Reply.Answers = append(given.Reply.Answers, answers.field(key(i)).geminiAnswer(&a.Questions[i]))
		}
		strangers(answers, keys)
		return given, r
	}
	v := value{r: r}
	if len(a.Questions) == 1 {
		v.raw = string(body)
		given.Reply.Answers = []ask.Answer{v.geminiAnswer(&a.Questions[0])}
		return given, r
	}
	texts, err := geminiTexts(a, string(body))
	if err != nil {
		return Given{Decision: Replied, Reply: ask.Reply{Response: string(body)}}, r // text without numbers is one response to the whole
	}
	for i, text := range texts {
		if v.raw = text; text == "(not answered)" {
			v.raw = nil
		}
		given.Reply.Answers = append(given.Reply.Answers, v.geminiAnswer(&a.Questions[i]))
	}
	return given, r
}

// geminiAnswer reads joined labels, or a JSON array of them.
func (v value) geminiAnswer(q *ask.Question) ask.Answer {
	if text, ok := v.raw.(string); ok && q.Multiple && strings.HasPrefix(text, "[") {
		if all, err := (&reader{}).parse([]byte(text)); err == nil {
			v.raw = all.raw
		}
	}
	return v.answer(q, claudeCodeSeparator)
}

var errNotNumbered = errors.New("not numbered")

// geminiTexts splits numbered lines; continuation lines are indented.
func geminiTexts(a *ask.Ask, text string) ([]string, error) {
	texts := make([]string, len(a.Questions))
	next := 0
	for line := range strings.SplitSeq(text, "\n") {
		if next < len(texts) {
			if rest, ok := strings.CutPrefix(line, geminiHead(a, next)); ok {
				texts[next] = rest
				next++
				continue
			}
		}
		rest, ok := strings.CutPrefix(line, "  ")
		if !ok || next == 0 {
			return nil, errNotNumbered
		}
		texts[next-1] += "\n" + rest
	}
	return texts, nil
}
