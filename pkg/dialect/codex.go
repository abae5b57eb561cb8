package dialect

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// codexNote is Codex's prefix for an answer element that is a note.
const codexNote = "user_note: "

// aside marks an ask whose agent continues while it is open.
const aside = "none"

// GoesOn reports whether the agent continues to work while people are asked
// (isBlocking false in Codex), so that it must be told at once that the ask is
// pending.
func GoesOn(a *ask.Ask) bool { return recall(a, "", "wait") == aside }

// codexAsk reads the arguments of request_user_input.
func codexAsk(b *builder, v value) {
	v.body()
	b.times(v)
	if !v.field("isBlocking").bool(true) {
		b.remember(aside, "wait")
	}
	b.questions(v.field("questions"), func(i int, v value) {
		q := ask.Question{
			Multiple: v.multiple(),
			ID:       b.id(v.field("id"), i), Header: b.header(v.field("header"), i), Text: v.field("question").need(),
			NoOther: !v.field("isOther").bool(true),
		}
		q.Options = b.options(v.field("options"))
		if v.field("isSecret").bool(false) {
			v.field("isSecret").fault(ask.FaultSecret)
		}
		if len(q.Options) == 0 {
			q.NoOther = false
			v.single(&q)
		}
		b.add(q, place{at: v.at, fields: map[string]string{"text": "question"}})
	})
}

// questions reads 1 to 16 questions, for a dialect without its own bounds.
func (b *builder) questions(v value, read func(i int, v value)) {
	if v.missing() {
		v.fault(ask.FaultMissingItems, 1, ask.MaxQuestions, "questions")
	}
	for i, item := range v.objects(ask.MaxQuestions, "questions") {
		read(i, item)
	}
}

// options reads labels and descriptions, up to the bounds of an ask.
func (b *builder) options(v value) []ask.Option {
	var options []ask.Option
	for _, item := range v.upTo(ask.MaxOptions, "options") {
		options = append(options, option(item))
	}
	return options
}

// codexAnswer writes the answers by question id, each a list of strings. Codex
// keeps nothing else, so words for its model are notes in these lists.
func codexAnswer(a *ask.Ask, o *ask.Outcome) Response {
	if rowOf(o) == rowExpired {
		return nobodyAnswered(a, o)
	}
	answers := ordered()
	for i := range a.Questions {
		q := &a.Questions[i]
		said := []string{}
		if ans := answerTo(o, q); ans != nil && q.Kind == ask.KindChoice {
			said = q.Labels(*ans)
		} else if ans != nil {
			said = []string{q.Words(*ans)}
		}
		if rowOf(o) == rowResponse {
			said = []string{o.Response}
		}
		if given := o.Answer(q.ID); given != nil && given.Notes != "" {
			said = append(said, codexNote+given.Notes)
		}
		if words := beside(a, o); words != "" && (len(said) > 0 || !rowOf(o).decided()) {
			said = append(said, codexNote+words)
		}
		answers.set(recall(a, q.ID, i, "id"), ordered("answers", said))
	}
	return respond(200, ordered("answers", answers).ending(a, o, ""))
}

// codexShow writes any ask as request_user_input. Codex lets people choose one
// option; several are typed, separated by commas.
func codexShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		text := s.text(a, i, false)
		if q.Multiple {
			text += "\n\n" + q.HowToIn(a.Language())
			s.warn("/questions/"+key(i)+"/multiple", "is true, but this screen chooses one; several can be typed")
		}
		var options any
		if shown := s.familyOptions(a, i, claudeCodeSeparator, false); len(shown) > 0 {
			options = shown
		}
		questions = append(questions, ordered("id", recall(a, q.ID, i, "id"), "header", header(a, i), "question", text,
			"isOther", q.Other() || q.Multiple, "isSecret", false, "options", options))
	}
	return encode(ordered("questions", questions, "isBlocking", !GoesOn(a))), s.warnings
}

// codexReply reads the answers by question id.
func codexReply(a *ask.Ask, v value) Given {
	v.body()
	answers := v.field("answers").wanted("an_object_of_answers_by_question_id")
	given := Given{Decision: Replied}
	var keys []string
	for i := range a.Questions {
		q := &a.Questions[i]
		keys = append(keys, recall(a, q.ID, i, "id"))
		item := answers.field(keys[i])
		item.object()
		said := item.field("answers")
		var notes, labels []string
		for _, s := range said.strings() {
			if note, ok := strings.CutPrefix(s, codexNote); ok {
				notes = append(notes, note)
			} else {
				labels = append(labels, s)
			}
		}
		ans := value{r: v.r, at: said.at, raw: anys(labels)}.codexAnswer(q)
		ans.Notes = strings.Join(notes, "\n")
		given.Reply.Answers = append(given.Reply.Answers, ans)
	}
	strangers(answers, keys)
	return given
}

// codexAnswer reads a list of labels. Several choices are typed as one text,
// because the screen cannot choose several.
func (v value) codexAnswer(q *ask.Question) ask.Answer {
	if all, _ := v.raw.([]any); len(all) == 1 && q.Multiple {
		if text, _ := all[0].(string); choose(q, text, claudeCodeSeparator).Other != "" {
			v.answers(q.ID)
			if ans, err := q.ParseReply(text); err == nil {
				return ans
			}
		}
	}
	return v.answerOf(q, claudeCodeSeparator)
}

// answerOf reads an array of labels; a single label may be several joined ones.
func (v value) answerOf(q *ask.Question, separator string) ask.Answer {
	if all, ok := v.raw.([]any); ok && len(all) == 1 {
		v.raw = all[0]
	}
	return v.answer(q, separator)
}

func anys(all []string) []any {
	list := make([]any, len(all))
	for i, s := range all {
		list[i] = s
	}
	return list
}
