package dialect

import (
	"encoding/json"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// claudeCodeAnswer writes the tool's output: questions, answers, annotations,
// and as text what they do not express. If the body itself was the one
// question, it writes { result }.
func claudeCodeAnswer(a *ask.Ask, o *ask.Outcome) Response {
	if claudeCodeAlone(a) {
		body := ordered()
		if rowOf(o).decided() {
			body = interactResult(a, o)
			if q := &a.Questions[0]; q.Kind != ask.KindChoice && answerTo(o, q) != nil {
				body.set("result", typedValue(q, *answerTo(o, q)))
			}
		}
		return respond(200, body.ending(a, o, ""))
	}
	body := ordered("questions", claudeCodeQuestions(a), "answers", claudeCodeAnswers(a, o))
	if notes := claudeCodeAnnotations(a, o); len(notes.keys) > 0 {
		body.set("annotations", notes)
	}
	body.setText("response", o.Response)
	body.ending(a, o, claudeCodeSeparator)
	body.set("text", Report(a, o))
	return respond(200, body)
}

// claudeCodeAlone reports whether the body itself was the one question. The
// second name is from before the dialect had a name of its own.
func claudeCodeAlone(a *ask.Ask) bool {
	return (cameAs(a, claudeCodeSingle) || cameAs(a, "d3-single")) && len(a.Questions) == 1
}

// claudeCodeKeys returns the texts that key the answers.
func claudeCodeKeys(a *ask.Ask) []string {
	keys := make([]string, 0, len(a.Questions))
	for i := range a.Questions {
		keys = append(keys, distinct(a.Questions[i].Text, i, keys))
	}
	return keys
}

func claudeCodeAnswers(a *ask.Ask, o *ask.Outcome) *object {
	answers, keys := ordered(), claudeCodeKeys(a)
	for i := range a.Questions {
		q := &a.Questions[i]
		if ans := answerTo(o, q); ans != nil && rowOf(o).decided() {
			answers.set(keys[i], claudeCodeValue(q, *ans))
		}
	}
	return answers
}

// claudeCodeValue returns the labels of a choice as text, and another answer in its type.
func claudeCodeValue(q *ask.Question, ans ask.Answer) any {
	switch {
	case q.Kind != ask.KindChoice:
		return typedValue(q, ans)
	case !q.Multiple:
		return strings.Join(q.Labels(ans), claudeCodeSeparator)
	}
	return claudeCodeJoin(q.Labels(ans))
}

// claudeCodeJoin joins several labels as Claude Code itself does: one that could be read as two, or has a
// quote, is a JSON string.
func claudeCodeJoin(labels []string) string {
	items := make([]string, len(labels))
	for i, label := range labels {
		if items[i] = label; strings.Contains(label, claudeCodeSeparator) || strings.Contains(label, `"`) {
			items[i] = string(encode(label))
		}
	}
	return strings.Join(items, claudeCodeSeparator)
}

// claudeCodeSplit undoes [claudeCodeJoin]. It is false without a JSON string, or if the rest of the text is not so
// joined; then the labels decide where to split.
func claudeCodeSplit(text string) (items []string, ok bool) {
	for more := true; more; {
		var item string
		if strings.HasPrefix(text, `"`) {
			d := json.NewDecoder(strings.NewReader(text))
			if d.Decode(&item) != nil {
				return nil, false
			}
			ok, text = true, text[d.InputOffset():]
			if text != "" && !strings.HasPrefix(text, claudeCodeSeparator) {
				return nil, false
			}
			text, more = strings.CutPrefix(text, claudeCodeSeparator)
		} else {
			item, text, more = strings.Cut(text, claudeCodeSeparator)
		}
		items = append(items, item)
	}
	return items, ok
}

// claudeCodeAnnotations returns the person's notes and the previews they
// compared. A model reads them as the person's own words, so askbus adds
// nothing here.
func claudeCodeAnnotations(a *ask.Ask, o *ask.Outcome) *object {
	annotations, keys := ordered(), claudeCodeKeys(a)
	if !rowOf(o).decided() {
		return annotations
	}
	for i := range a.Questions {
		q, note := &a.Questions[i], ordered()
		if ans := answerTo(o, q); ans != nil && len(ans.Selected) == 1 {
			if opt := q.Option(ans.Selected[0]); opt != nil && opt.Preview != nil {
				note.set("preview", opt.Preview.Body)
			}
		}
		if given := o.Answer(q.ID); given != nil && given.Notes != "" {
			note.set("notes", given.Notes)
		}
		if len(note.keys) > 0 {
			annotations.set(keys[i], note)
		}
	}
	return annotations
}

// claudeCodeQuestions returns the questions as they were asked.
func claudeCodeQuestions(a *ask.Ask) []any {
	questions, keys := []any{}, claudeCodeKeys(a)
	for i := range a.Questions {
		q := &a.Questions[i]
		options := []any{}
		for j := range q.Options {
			o := &q.Options[j]
			option := ordered("label", o.Label, "description", o.Description)
			if o.Preview != nil {
				option.set(previewName(a, i, j), o.Preview.Body)
			}
			options = append(options, option)
		}
		question := ordered("question", keys[i], "header", header(a, i), "options", options, "multiSelect", q.Multiple)
		switch {
		case q.Kind == ask.KindNumber && q.Limits.Integer:
			question.set("type", "integer")
		case q.Kind != ask.KindChoice:
			question.set("type", string(q.Kind))
		}
		questions = append(questions, question)
	}
	return questions
}
