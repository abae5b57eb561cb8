package dialect

import "github.com/askbus/askbus/pkg/ask"

const cursorName = "cursor"

// cursorAsk reads AskQuestion: questions and options by id, and free text with
// them.
func cursorAsk(b *builder, v value) {
	v.body()
	b.times(v)
	v.ignore("asyncOriginalToolCallId", "async_original_tool_call_id", "runAsync", "run_async")
	b.ask.Title = v.field("title").string()
	b.questions(v.field("questions"), func(i int, v value) {
		q := ask.Question{ID: b.id(v.field("id"), i), Text: v.field("prompt").need(), Multiple: v.multiple()}
		labels := []string{}
		for j, item := range v.field("options").objects(ask.MaxOptions, "options") {
			o := ask.Option{ID: b.id(item.field("id"), i, j)}
			o.Label = b.byIDLabel(item.field("label"), o.ID, labels)
			labels = append(labels, o.Label)
			q.Options = append(q.Options, o)
		}
		if len(q.Options) == 0 {
			v.single(&q)
		}
		b.add(q, place{at: v.at, fields: map[string]string{"text": "prompt", "multiple": "allow_multiple"}})
	})
}

// cursorAnswer writes the result, one of success, rejected and error.
func cursorAnswer(a *ask.Ask, o *ask.Outcome) Response {
	switch rowOf(o) {
	case rowAnswered, rowDefault:
	case rowResponse:
		return respond(200, ordered("rejected", ordered("reason", o.Response)))
	case rowCancelled, rowDeclined:
		return respond(200, ordered("rejected", ordered("reason", sentence(a, o))))
	case rowWithdrawn, rowAborted, rowExpired:
		return respond(200, ordered("error", ordered("error_message", sentence(a, o))))
	}
	answers := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		ids, text := []string{}, ""
		if ans := answerTo(o, q); ans != nil {
			for _, id := range ans.Selected {
				ids = append(ids, foreignOption(a, i, id))
			}
			if text = ans.Other; q.Kind != ask.KindChoice {
				text = q.Words(*ans)
			}
		}
		answers = append(answers, ordered("question_id", recall(a, q.ID, i, "id"), "selected_option_ids", ids, "freeform_text", text))
	}
	success := ordered("answers", answers)
	success.setText("text", remarks(a, o, ""))
	return respond(200, ordered("success", success))
}

// cursorPending is the result for a question that continues in the background.
func cursorPending(a *ask.Ask, p Pending) Response {
	body := waiting(a, p)
	body.set("async", ordered())
	return pending(body, p)
}

// cursorShow writes any ask as AskQuestion.
func cursorShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	questions := []any{}
	for i := range a.Questions {
		q, options := &a.Questions[i], []any{}
		for j := range q.Options {
			options = append(options, ordered("id", foreignOption(a, i, q.Options[j].ID), "label", q.Options[j].Label))
		}
		typed := *a
		typed.Title = ""
		questions = append(questions, ordered("id", recall(a, q.ID, i, "id"), "prompt", s.text(&typed, i, true), "options", options, "allow_multiple", q.Multiple))
	}
	return encode(ordered("title", a.Title, "questions", questions)), s.warnings
}

// cursorReply reads a result.
func cursorReply(a *ask.Ask, v value) Given {
	v.body()
	if rejected := v.field("rejected"); rejected.given() {
		return Given{Decision: Declined, Reason: rejected.field("reason").string()}
	}
	if v.field("error").given() || v.field("async").given() {
		return Given{Decision: Dismissed}
	}
	answers := v.field("success").field("answers").wanted("the_answers_or_rejected")
	v.r.rest = answers.at
	given := Given{Decision: Replied}
	for _, item := range answers.list() {
		item.object()
		foreign := item.first("question_id", "questionId").need()
		at := -1
		for i := range a.Questions {
			if recall(a, a.Questions[i].ID, i, "id") == foreign {
				at = i
			}
		}
		if at < 0 {
			item.fault(ask.FaultNotAmong, clip(foreign), "the_questions")
			continue
		}
		q := &a.Questions[at]
		text := item.first("freeform_text", "freeformText")
		if q.Kind != ask.KindChoice {
			given.Reply.Answers = append(given.Reply.Answers, text.answer(q, ""))
			continue
		}
		ans, selected := ask.Answer{QuestionID: q.ID, Other: text.string()}, item.first("selected_option_ids", "selectedOptionIds")
		selected.answers(q.ID)
		for _, id := range selected.strings() {
			native, ok := nativeOption(a, at, id)
			if !ok {
				item.faultIn(q.ID, ask.FaultNotAmong, clip(id), "the_options")
			}
			ans.Selected = append(ans.Selected, native)
		}
		if len(ans.Selected) > 0 && !q.Multiple && ans.Other != "" {
			ans.Notes, ans.Other = ans.Other, "" // one choice was made; the text comments on it
		}
		if ans.Other != "" {
			text.answers(q.ID)
		}
		ans.Skipped = ans.Empty()
		given.Reply.Answers = append(given.Reply.Answers, ans)
	}
	return given
}
