package dialect

import (
	"strconv"

	"github.com/askbus/askbus/pkg/ask"
)

// opencodeHeader is the maximum length of opencode's headers.
const opencodeHeader = 30

// opencodeAsk reads the input of the tool question, a request of its server
// (with an id and a session), or the event question.v2.asked around it, also by
// its old name question.asked.
func opencodeAsk(body []byte) (ask.Ask, []Warning, error) {
	b := newBuilder("opencode")
	v, err := b.parse(body)
	if err != nil {
		return ask.Ask{}, nil, err
	}
	v.body()
	if properties := v.first("properties", "data"); properties.given() {
		typ := v.field("type")
		if s := typ.need(); s != "question.v2.asked" && s != "question.asked" {
			typ.fault("is %q; give question.v2.asked", clip(s))
		}
		v.ignore("id", "location", "metadata", "durable", "created")
		v = properties
		v.object()
	}
	if id := v.field("id"); id.given() {
		b.askID(id.string())
		b.remember("request", "shape")
	}
	b.session(v.field("sessionID").string())
	v.ignore("tool")
	b.times(v)
	b.questions(v.field("questions"), func(i int, v value) {
		q := ask.Question{
			Header: b.longHeader(v.field("header"), i, opencodeHeader), Text: v.field("question").need(),
			Multiple: v.multiple(), NoOther: !v.field("custom").bool(true),
		}
		if q.Options = b.options(v.field("options")); len(q.Options) == 0 {
			v.single(&q)
			if q.NoOther {
				v.field("options").fault("is empty and custom is false; give options or set custom to true")
				q.NoOther = false
			}
		}
		b.add(q, place{at: v.at, fields: map[string]string{"text": "question"}})
	})
	return b.finish()
}

// opencodeAnswer writes the answers in the order of the questions, each a list
// of strings. Words other than an answer are in parentheses.
func opencodeAnswer(a *ask.Ask, o *ask.Outcome) Response {
	answers := [][]string{}
	for i := range a.Questions {
		q := &a.Questions[i]
		said := []string{}
		switch ans := answerTo(o, q); {
		case rowOf(o) == rowResponse:
			said = []string{o.Response}
		case ans == nil || !rowOf(o).decided():
		case q.Kind == ask.KindChoice:
			said = q.Labels(*ans)
		default:
			said = []string{q.Words(*ans)}
		}
		if words := beside(a, o); words != "" && (len(said) > 0 || !rowOf(o).decided()) {
			said = append(said, "("+words+")")
		}
		if given := o.Answer(q.ID); given != nil && given.Notes != "" {
			said = append(said, "(note: "+given.Notes+")")
		}
		answers = append(answers, said)
	}
	if rowOf(o).decided() && recall(a, "", "shape") != "" {
		return respond(200, ordered("answers", answers)) // its server accepts nothing else
	}
	return respond(200, ordered("answers", answers).ending(a, o, ""))
}

// opencodeShow writes any ask as a request of opencode's server; the tool takes
// the questions in it.
func opencodeShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		options := s.familyOptions(a, i, "", false)
		questions = append(questions, ordered("question", s.text(a, i, false), "header", header(a, i), "options", options,
			"multiple", q.Multiple, "custom", len(options) == 0 || q.Other()))
	}
	return encode(ordered("id", recall(a, a.ID, "id"), "sessionID", recall(a, a.Session, "session"), "questions", questions)), s.warnings
}

// opencodeReply reads the answers in the order of the questions, or the event
// that says how a request ended.
func opencodeReply(a *ask.Ask, body []byte) (Given, error) {
	r := &reader{what: "opencode answer"}
	v, err := r.parse(body)
	if err != nil {
		return Given{}, err
	}
	v.body()
	switch typ := v.field("type").string(); typ {
	case "":
	case "question.v2.rejected", "question.rejected":
		return Given{Decision: Declined}, r.err()
	case "question.v2.replied", "question.replied":
		v = v.field("properties")
		v.object()
	default:
		v.field("type").fault("is %q; give question.v2.replied or question.v2.rejected", clip(typ))
	}
	answers := v.field("answers")
	if !answers.given() {
		answers.fault("is missing; give an array with one array of labels for each question")
	}
	given := Given{Decision: Replied}
	for i, item := range answers.list() {
		if i >= len(a.Questions) {
			item.fault("is not a question; there are %d", len(a.Questions))
			break
		}
		given.Reply.Answers = append(given.Reply.Answers, item.answerOf(&a.Questions[i], ""))
	}
	return given, r.err()
}

// key formats an index for a JSON pointer.
func key(i int) string { return strconv.Itoa(i) }
