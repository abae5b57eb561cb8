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
func opencodeAsk(b *builder, v value) {
	v.body()
	if properties := v.first("properties", "data"); properties.given() {
		typ := v.field("type")
		if s := typ.need(); s != "question.v2.asked" && s != "question.asked" {
			typ.fault(ask.FaultNotOneOf, clip(s), "question.v2.asked")
		}
		v.ignore("id", "location", "metadata", "durable", "created")
		v = properties
		v.object()
	}
	if id := v.field("id"); id.given() {
		b.callID(id.string())
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
				v.field("options").fault(ask.FaultEmptyList, "options_or_set_custom_to_true")
				q.NoOther = false
			}
		}
		b.add(q, place{at: v.at, fields: map[string]string{"text": "question"}})
	})
}

// opencodeAnswer writes the answers in the order of the questions, each a list
// of strings. Words other than an answer are in parentheses.
func opencodeAnswer(a *ask.Ask, o *ask.Outcome) Response {
	if rowOf(o) == rowExpired {
		return nobodyAnswered(a, o)
	}
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
	return encode(ordered("id", requestID(a), "sessionID", recall(a, a.Session, "session"), "questions", questions)), s.warnings
}

// requestID returns the id of the server's request that asked, else the ask's.
func requestID(a *ask.Ask) string {
	if id, _ := a.Metadata[ask.MetadataCall].(string); id != "" && cameAs(a, "opencode") {
		return id
	}
	return a.ID
}

// opencodeReply reads the answers in the order of the questions, or the event
// that says how a request ended.
func opencodeReply(a *ask.Ask, v value) Given {
	v.body()
	switch typ := v.field("type").string(); typ {
	case "":
	case "question.v2.rejected", "question.rejected":
		return Given{Decision: Declined}
	case "question.v2.replied", "question.replied":
		v = v.field("properties")
		v.object()
	default:
		v.field("type").fault(ask.FaultNotOneOf, clip(typ), "question.v2.replied, question.v2.rejected")
	}
	answers := v.field("answers").wanted("an_array_with_one_array_of_labels_for_each_question")
	v.r.rest = answers.at
	given := Given{Decision: Replied}
	for i, item := range answers.list() {
		if i >= len(a.Questions) {
			item.fault(ask.FaultNoSuchQuestion, len(a.Questions))
			break
		}
		given.Reply.Answers = append(given.Reply.Answers, item.answerOf(&a.Questions[i], ""))
	}
	return given
}

// key formats an index for a JSON pointer.
func key(i int) string { return strconv.Itoa(i) }
