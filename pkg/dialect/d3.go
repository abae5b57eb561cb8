package dialect

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// D3ToolName is the name of the tool that D3 speaks for.
const D3ToolName = "AskUserQuestion"

const d3Separator = ", "

// D3Ask reads the tool's input. Answers and annotations in it are never taken
// for a human's.
func D3Ask(body []byte) (ask.Ask, []Warning, error) {
	b := newBuilder("d3")
	v, err := b.parse(body)
	if err != nil {
		return ask.Ask{}, nil, err
	}
	v.body()
	b.d3Input(v)
	return b.finish()
}

// d3Input reads { questions, metadata? }.
func (b *builder) d3Input(v value) {
	v.object()
	if v.field("metadata").given() {
		v.field("metadata").object()
		b.meta("source", v.field("metadata").field("source").string())
	}
	var texts []string
	b.familyList(v.field("questions"), func(i int, v value) ask.Question {
		q := b.familyQuestion(i, v)
		q.Kind = ask.KindChoice
		q.Options = b.familyOptions(v.field("options"), func(option value) *ask.Preview { return option.preview(q.Multiple) })
		if text := strings.TrimSpace(q.Text); text != "" && slices.Contains(texts, text) {
			v.field("question").fault("is the text of another question, too; answers are keyed by it, so texts must differ")
		}
		texts = append(texts, strings.TrimSpace(q.Text))
		blurred(v.field("options"), &q)
		return q
	})
}

// preview reads a preview by its newer or its older name.
func (v value) preview(multiple bool) *ask.Preview {
	f := v.first("preview", "markdown")
	body := f.string()
	switch {
	case strings.TrimSpace(body) == "":
		return nil
	case multiple:
		f.warn("is dropped: previews go with single choice only")
		return nil
	}
	return &ask.Preview{Format: ask.PreviewMarkdown, Body: body}
}

// blurred refuses labels of which different choices would join to one text.
func blurred(options value, q *ask.Question) {
	if !q.Multiple {
		return
	}
	if text := blurry(q.Options, d3Separator); text != "" {
		options.fault("have labels that cannot be told apart once several are joined by %q: %q; leave the commas out", d3Separator, clip(text))
	}
}

// D3Answer writes the tool's output: questions, answers, annotations, and what
// they do not say in words.
func D3Answer(a *ask.Ask, o *ask.Outcome) Response { return respond(200, d3Output(a, o)) }

func d3Output(a *ask.Ask, o *ask.Outcome) *object {
	body := ordered("questions", d3Questions(a), "answers", d3Answers(a, o))
	if notes := d3Annotations(a, o); len(notes.keys) > 0 {
		body.set("annotations", notes)
	}
	if o.Response != "" {
		body.set("response", o.Response)
	}
	body.ending(a, o, d3Separator)
	body.set("text", report(a, o))
	return body
}

// d3Keys are the texts by which questions are answered.
func d3Keys(a *ask.Ask) []string {
	keys := make([]string, 0, len(a.Questions))
	for i := range a.Questions {
		keys = append(keys, distinct(a.Questions[i].Text, i, keys))
	}
	return keys
}

func d3Answers(a *ask.Ask, o *ask.Outcome) *object {
	answers, keys := ordered(), d3Keys(a)
	for i := range a.Questions {
		q := &a.Questions[i]
		if ans := answerTo(o, q); ans != nil && rowOf(o).decided() {
			answers.set(keys[i], d3Value(q, *ans))
		}
	}
	return answers
}

func d3Value(q *ask.Question, ans ask.Answer) string {
	if q.Kind == ask.KindChoice {
		return strings.Join(q.Labels(ans), d3Separator)
	}
	return q.Words(ans)
}

// d3Annotations are what the person added and compared, and in the same place
// the words that a model must read beside an answer.
func d3Annotations(a *ask.Ask, o *ask.Outcome) *object {
	annotations, keys := ordered(), d3Keys(a)
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := answerTo(o, q)
		given := o.Answer(q.ID)
		if !rowOf(o).decided() {
			continue
		}
		note := ordered()
		var say []string
		if ans == nil && rowOf(o) == rowAnswered {
			say = append(say, "skipped: this question was left unanswered")
		}
		if ans != nil {
			if len(ans.Selected) == 1 {
				if opt := q.Option(ans.Selected[0]); opt != nil && opt.Preview != nil {
					note.set("preview", opt.Preview.Body)
				}
			}
			if blurs(q, *ans, d3Separator) {
				say = append(say, "chosen, each in quotes: "+quoted(q.Labels(*ans)))
			}
			if words := beside(a, o); words != "" {
				say = append(say, words)
			}
		}
		if given != nil && given.Notes != "" {
			say = append([]string{given.Notes}, say...)
		}
		if len(say) > 0 {
			note.set("notes", strings.Join(say, "\n"))
		}
		if len(note.keys) > 0 {
			annotations.set(keys[i], note)
		}
	}
	return annotations
}

// D3Pending is the result of a tool call whose wait is over.
func D3Pending(a *ask.Ask, p Pending) Response { return pending(waiting(a, p), p) }

// D3Show writes any ask as the tool's input.
func D3Show(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	s.bounds(a, familyQuestions, familyOptions)
	questions := []any{}
	var keys []string
	for i := range a.Questions {
		q := &a.Questions[i]
		key := distinct(s.text(a, i, false), i, keys)
		keys = append(keys, key)
		questions = append(questions, ordered("question", key, "header", header(a, i),
			"options", s.familyOptions(q, d3Separator, true), "multiSelect", q.Multiple))
	}
	body := ordered("questions", questions)
	if source, ok := a.Metadata["source"].(string); ok {
		body.set("metadata", ordered("source", source))
	}
	return encode(body), s.warnings
}

// d3Questions echoes the questions as they were asked.
func d3Questions(a *ask.Ask) []any {
	questions, keys := []any{}, d3Keys(a)
	for i := range a.Questions {
		q := &a.Questions[i]
		options := []any{}
		for j := range q.Options {
			o := &q.Options[j]
			option := ordered("label", o.Label, "description", o.Description)
			if o.Preview != nil {
				option.set("preview", o.Preview.Body)
			}
			options = append(options, option)
		}
		questions = append(questions, ordered("question", keys[i], "header", header(a, i), "options", options, "multiSelect", q.Multiple))
	}
	return questions
}

// D3Reply reads the tool's output from a screen that showed the ask.
func D3Reply(a *ask.Ask, body []byte) (Given, error) {
	r := &reader{what: "d3 answer"}
	v, err := r.parse(body)
	if err != nil {
		return Given{}, err
	}
	v.body()
	given := v.d3Given(a)
	return given, r.err()
}

// d3Given reads { answers, annotations?, response? }. The older name of the
// behavior that a permission callback gives, deny, declines.
func (v value) d3Given(a *ask.Ask) Given {
	if v.field("behavior").string() == "deny" {
		return Given{Decision: Declined, Reason: v.field("message").string()}
	}
	if updated := v.field("updatedInput"); updated.given() {
		v = updated
	}
	answers, annotations := v.field("answers"), v.field("annotations")
	given := Given{Decision: Replied, Reply: ask.Reply{Response: v.field("response").string()}}
	if !answers.given() && given.Reply.Response == "" {
		answers.fault("is missing; give an object of answers by question text")
	}
	annotations.object()
	shown, _ := D3Show(a)
	texts := d3Keys(a)
	var keys []string
	echo, _ := (&reader{}).parse(shown)
	for i, q := range echo.field("questions").list() {
		key := q.field("question").string()
		if text := texts[i]; !answers.field(key).given() && answers.field(text).given() {
			key = text
		}
		keys = append(keys, key)
		annotations.field(key).object()
		ans := answers.field(key).answer(&a.Questions[i], d3Separator)
		ans.Notes = annotations.field(key).field("notes").string()
		given.Reply.Answers = append(given.Reply.Answers, ans)
	}
	strangers(answers, keys)
	return given
}
