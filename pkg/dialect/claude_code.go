package dialect

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// ToolName is the name of the tool whose calls the dialect claude-code reads.
const ToolName = "AskUserQuestion"

const claudeCodeSeparator = ", "

// claudeCodeSingle is the dialect name of an ask whose body was itself the one
// question.
const claudeCodeSingle = "claude-code-single"

// claudeCodeAsk reads the tool's input: questions, or a body that is itself one
// question. The input may be wrapped in a call, as in a hook, a permission
// callback or a transcript; the ask then gets its id and session from there.
// Answers and annotations in the input are never taken for a person's.
func claudeCodeAsk(b *builder, v value) {
	v.body()
	input := b.claudeCodeCall(v)
	b.root = input
	input.ignore("answers", "annotations", "response")
	if input.field("question").given() && !input.field("questions").given() {
		b.origin["name"] = claudeCodeSingle
		b.claudeCodeSingle(input)
	} else {
		b.claudeCodeInput(input)
	}
	b.toolFields(input)
}

// claudeCodeCall returns the tool's input in a call, or v if it is the input
// itself.
func (b *builder) claudeCodeCall(v value) value {
	if v.field("questions").given() || v.field("question").given() {
		return v
	}
	input, name := v.first("tool_input", "toolInput", "input"), v.first("tool_name", "toolName")
	id := v.first("tool_use_id", "toolUseID", "toolUseId")
	if v.field("type").raw == "tool_use" {
		name, id = v.field("name"), v.field("id")
	}
	if call := v.field("function"); call.given() { // of OpenAI's chat completions
		input, name, id = call.field("arguments").unpacked(), call.field("name"), v.field("id")
	} else if v.field("type").raw == "function_call" { // of its responses
		input, name, id = v.field("arguments").unpacked(), v.field("name"), v.field("call_id")
	}
	if !input.given() && !name.given() {
		return v
	}
	b.session(v.first("session_id", "sessionId").string())
	b.callID(id.string())
	if name.given() && name.string() != ToolName {
		name.fault(ask.FaultNotOneOf, clip(name.string()), ToolName)
	}
	return input.wanted("the_tool_s_input")
}

// claudeCodeInput reads { questions, metadata? }.
func (b *builder) claudeCodeInput(v value) {
	v.object()
	b.source(v)
	for _, f := range v.multiples() { // that of one question, which clients fill in as false
		if f.bool(false) {
			f.warn("is dropped: it belongs to each question")
		}
	}
	var texts []string
	b.familyList(v.field("questions").unpacked(), func(i int, v value) ask.Question {
		q := b.familyQuestion(i, v)
		b.claudeCodeKind(v, &q)
		if q.Kind == ask.KindChoice {
			q.Options = b.familyOptions(v.field("options"), func(j int, option value) *ask.Preview { return b.preview(option, q.Multiple, i, j) })
		}
		b.claudeCodeMore(i, v, &q)
		if text := strings.TrimSpace(q.Text); text != "" && slices.Contains(texts, text) {
			v.field("question").fault(ask.FaultDuplicateKey, "text")
		}
		texts = append(texts, strings.TrimSpace(q.Text))
		blurred(v.field("options"), &q)
		return q
	})
	for i := range b.places {
		b.places[i].fields = claudeCodeFields()
	}
}

// claudeCodeSingle reads a body that is itself one question.
func (b *builder) claudeCodeSingle(v value) {
	q := ask.Question{Text: v.field("question").need(), Header: b.header(v.field("header"), 0), Multiple: v.multiple()}
	fields := claudeCodeFields()
	fields["multiple"] = "multiselect"
	b.claudeCodeKind(v, &q)
	if q.Kind == ask.KindChoice {
		q.Options = b.options(v.field("options"))
	}
	if q.Kind == ask.KindChoice && len(q.Options) == 0 {
		q.Kind = ask.KindText
		v.single(&q)
	}
	b.claudeCodeMore(0, v, &q)
	b.add(q, place{at: v.at, fields: fields})
}

// preview reads a preview under its newer or older name, and remembers which.
func (b *builder) preview(v value, multiple bool, at ...any) *ask.Preview {
	f := v.first("preview", "markdown")
	body := f.string()
	switch {
	case strings.TrimSpace(body) == "":
		return nil
	case multiple:
		f.warn("is dropped: previews need a single choice")
		return nil
	case f.name() == "markdown":
		b.remember("markdown", append(at, "preview")...)
	}
	return &ask.Preview{Format: ask.PreviewMarkdown, Body: body}
}

// previewName returns the name of an option's preview field in the request.
func previewName(a *ask.Ask, question, option int) string {
	return recall(a, "preview", question, option, "preview")
}

// blurred refuses labels of which different choices would join to the same
// text.
func blurred(options value, q *ask.Question) {
	if !q.Multiple {
		return
	}
	if text := blurry(q.Options, claudeCodeSeparator); text != "" {
		options.fault(ask.FaultJoinedLabels, claudeCodeSeparator, clip(text))
	}
}

// claudeCodeShow writes any ask as the tool's input.
func claudeCodeShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	s.bounds(a, familyQuestions, familyOptions)
	questions := []any{}
	var keys []string
	for i := range a.Questions {
		q := &a.Questions[i]
		key := distinct(s.text(a, i, false), i, keys)
		keys = append(keys, key)
		questions = append(questions, ordered("question", key, "header", header(a, i),
			"options", s.familyOptions(a, i, claudeCodeSeparator, true), "multiSelect", q.Multiple))
	}
	body := ordered("questions", questions)
	if source, ok := a.Metadata["source"].(string); ok {
		body.set("metadata", ordered("source", source))
	}
	return encode(body), s.warnings
}
