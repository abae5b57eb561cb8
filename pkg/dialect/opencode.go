package dialect

import (
	"strconv"

	"github.com/askbus/askbus/pkg/ask"
)

// OpencodeAsk reads the input of the tool question.
func OpencodeAsk(body []byte) (ask.Ask, []Warning, error) {
	b := newBuilder("opencode")
	v, err := b.parse(body)
	if err != nil {
		return ask.Ask{}, nil, err
	}
	v.body()
	b.questions(v.field("questions"), func(i int, v value) {
		q := ask.Question{
			Header: b.header(v.field("header"), i), Text: v.field("question").need(),
			Multiple: v.field("multiple").bool(false), NoOther: !v.field("custom").bool(true),
		}
		if q.Options = b.options(v.field("options")); len(q.Options) == 0 {
			q.Multiple = false
			if q.NoOther {
				v.field("options").fault("is empty and custom is false; give options or set custom to true")
				q.NoOther = false
			}
		}
		b.add(q, place{at: v.at, fields: map[string]string{"text": "question"}})
	})
	return b.finish()
}

// OpencodeAnswer writes the answers in the order of the questions, each a list
// of strings. Words that are no answer stand in parentheses.
func OpencodeAnswer(a *ask.Ask, o *ask.Outcome) Response {
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
	return respond(200, ordered("answers", answers).ending(a, o, ""))
}

// OpencodePending says that the ask waits.
func OpencodePending(a *ask.Ask, p Pending) Response { return pending(waiting(a, p), p) }

// OpencodeShow writes any ask as the input of the tool question.
func OpencodeShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		options := s.familyOptions(q, "", false)
		questions = append(questions, ordered("question", s.text(a, i, false), "header", header(a, i), "options", options,
			"multiple", q.Multiple, "custom", len(options) == 0 || q.Other()))
	}
	return encode(ordered("questions", questions)), s.warnings
}

// OpencodeReply reads the answers in the order of the questions.
func OpencodeReply(a *ask.Ask, body []byte) (Given, error) {
	r := &reader{what: "opencode answer"}
	v, err := r.parse(body)
	if err != nil {
		return Given{}, err
	}
	v.body()
	answers := v.field("answers")
	if !answers.given() {
		answers.fault("is missing; give an array with one array of labels for each question")
	}
	given := Given{Decision: Replied}
	for i, item := range answers.list() {
		if i >= len(a.Questions) {
			item.fault("answers no question; there are %d", len(a.Questions))
			break
		}
		given.Reply.Answers = append(given.Reply.Answers, item.answerOf(&a.Questions[i], ""))
	}
	return given, r.err()
}

// key is an index in a JSON pointer.
func key(i int) string { return strconv.Itoa(i) }
