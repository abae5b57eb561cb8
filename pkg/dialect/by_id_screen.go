package dialect

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// byIDShow writes any ask with ids. A question without options has an empty
// list of them; its answer comes back as text.
func byIDShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	questions := []any{}
	cancels := []string{}
	for i := range a.Questions {
		q := &a.Questions[i]
		options := []any{}
		if q.Kind == ask.KindBoolean {
			options = append(options, ordered("id", "yes", "label", say(a, "Yes")), ordered("id", "no", "label", say(a, "No")))
		}
		for j := range q.Options {
			o := &q.Options[j]
			id := recall(a, o.ID, i, j, "id")
			shown := ordered("id", id, "label", o.Label)
			shown.setText("description", s.description(a, o, false, false))
			if o.Cancels {
				cancels = append(cancels, id)
			}
			options = append(options, shown)
		}
		questions = append(questions, ordered("question_id", recall(a, q.ID, i, "id"), "question", s.text(a, i, false),
			"allow_multiple", q.Multiple, "options", options))
	}
	return encode(ordered("questions", questions, "cancel_option_ids", cancels)), s.warnings
}

// byIDReply reads the answer of a foreign screen. The faults of its error name
// the questions to ask again. An answer may carry text instead of ids if the
// screen could not show options.
func byIDReply(a *ask.Ask, v value) Given {
	v.body()
	given := Given{Decision: Replied}
	switch status := v.field("status").string(); status {
	case "", "answered":
		given.Reply.Answers = v.field("answers").byIDAnswers(a)
	case "cancelled":
		given.Reply.Answers = v.field("cancelled_by").byIDCancelled(a)
	case "aborted":
		reason := v.field("reason").string()
		if rest, ok := strings.CutPrefix(reason, "declined"); ok {
			return Given{Decision: Declined, Reason: strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")}
		}
		if text := v.field("text").string(); reason == "response" && text != "" {
			given.Reply.Response = v.field("text").response()
			return given
		}
		return Given{Decision: Dismissed}
	default:
		v.field("status").fault(ask.FaultNotOneOf, clip(status), "answered, cancelled, aborted")
	}
	return given
}

func (v value) byIDAnswers(a *ask.Ask) []ask.Answer {
	v.r.rest = v.at
	answers := []ask.Answer{}
	for _, item := range v.wanted("array").list() {
		item.object()
		if i, ok := item.field("question_id").byIDQuestion(a); ok {
			answers = append(answers, item.byIDAnswer(a, i))
		}
	}
	return answers
}

// byIDQuestion returns the index of the question with a foreign id.
func (v value) byIDQuestion(a *ask.Ask) (int, bool) {
	id := v.need()
	for i := range a.Questions {
		if recall(a, a.Questions[i].ID, i, "id") == id {
			return i, true
		}
	}
	if v.given() {
		v.fault(ask.FaultNotAmong, clip(id), "the_questions")
	}
	return 0, false
}

func (v value) byIDAnswer(a *ask.Ask, i int) ask.Answer {
	q := &a.Questions[i]
	ans := ask.Answer{QuestionID: q.ID}
	selected := v.field("selected_option_ids")
	selected.answers(q.ID)
	text := v.field("text").string()
	if q.Kind == ask.KindBoolean && text == "" && len(selected.list()) == 1 {
		return selected.list()[0].answer(q, "") // the ids are yes and no
	}
	if text != "" && len(selected.list()) == 0 {
		v.field("text").answers(q.ID)
		read, err := q.ParseReply(text)
		v.field("text").refused(err)
		read.QuestionID = q.ID
		return read
	} else if text != "" && q.Other() {
		v.field("text").answers(q.ID)
		ans.Other = text
	}
	known, unknown := 0, ""
	ids := selected.strings()
	for _, foreign := range ids {
		id, ok := nativeOption(a, i, foreign)
		switch {
		case !ok:
			unknown = foreign
		case !slices.Contains(ans.Selected, id):
			ans.Selected = append(ans.Selected, id)
			known++
		}
	}
	switch {
	case q.Kind != ask.KindChoice || v.field("skipped").bool(false) && len(ids) == 0:
		ans.Skipped = ans.Empty()
	case q.Multiple && known == 0 && ans.Other == "":
		if !q.Optional || len(ids) > 0 {
			selected.faultIn(q.ID, ask.FaultNothingChosen)
		}
	case !q.Multiple && (len(ids) != 1 || unknown != "") && ans.Other == "":
		selected.faultIn(q.ID, ask.FaultChooseOne)
	}
	return ans
}

func nativeOption(a *ask.Ask, question int, foreign string) (string, bool) {
	for j := range a.Questions[question].Options {
		id := a.Questions[question].Options[j].ID
		if recall(a, id, question, j, "id") == foreign {
			return id, true
		}
	}
	return "", false
}

func (v value) byIDCancelled(a *ask.Ask) []ask.Answer {
	v.object()
	i, ok := v.field("question_id").byIDQuestion(a)
	if !ok {
		return nil
	}
	q, option := &a.Questions[i], v.field("option_id")
	id, known := nativeOption(a, i, option.need())
	if !known || !q.Option(id).Cancels {
		option.faultIn(q.ID, ask.FaultNotAmong, clip(option.string()), "the_cancelling")
		return nil
	}
	option.answers(q.ID)
	return []ask.Answer{{QuestionID: q.ID, Selected: []string{id}}}
}
