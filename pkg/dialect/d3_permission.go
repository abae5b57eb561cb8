package dialect

import "github.com/askbus/askbus/pkg/ask"

// PermissionCall is what an agent SDK asks its permission callback.
type PermissionCall struct {
	Ask      ask.Ask
	Warnings []Warning
	input    *object // as it was given, to be echoed
}

// D3Permission reads the call of a permission callback: the tool's input
// itself, or { tool_name?, input, tool_use_id?, session_id? }.
func D3Permission(body []byte) (PermissionCall, error) {
	b := newBuilder("d3")
	v, err := b.parse(body)
	if err != nil {
		return PermissionCall{}, err
	}
	v.body()
	input := v
	if wrapped := v.first("input", "tool_input", "toolInput"); wrapped.given() && !v.field("questions").given() {
		input = wrapped
		b.session(v.first("session_id", "sessionId").string())
		b.askID(v.first("tool_use_id", "toolUseID", "toolUseId").string())
		if name := v.first("tool_name", "toolName"); name.given() && name.string() != D3ToolName {
			name.fault("is %q; only %s is asked here", clip(name.string()), D3ToolName)
		}
	}
	b.d3Input(input)
	a, warnings, err := b.finish()
	if err != nil {
		return PermissionCall{}, err
	}
	return PermissionCall{Ask: a, Warnings: warnings, input: input.object()}, nil
}

// Decide is what the callback returns: allow with the answers, or deny with
// the reason. It never allows without an answer.
func (c PermissionCall) Decide(o *ask.Outcome) []byte {
	updated := updatedInput(&c.Ask, c.input, o)
	if updated == nil {
		return encode(ordered("behavior", "deny", "message", d3Denial(&c.Ask, o)))
	}
	return encode(ordered("behavior", "allow", "updatedInput", updated))
}

// d3Denial says why there is no answer.
func d3Denial(a *ask.Ask, o *ask.Outcome) string {
	if rowOf(o).decided() {
		return report(a, o) // answered, but every question was skipped
	}
	return sentence(a, o)
}

// updatedInput replaces a tool's whole input: what was given, with the answers
// in it. It is nil when there is none.
func updatedInput(a *ask.Ask, input *object, o *ask.Outcome) *object {
	answers := d3Answers(a, o)
	if !rowOf(o).decided() || len(answers.keys) == 0 && o.Response == "" {
		return nil
	}
	updated := ordered()
	for _, key := range input.keys {
		if key != "answers" && key != "annotations" && key != "response" {
			updated.set(key, input.values[key])
		}
	}
	updated.set("answers", answers)
	if notes := d3Annotations(a, o); len(notes.keys) > 0 {
		updated.set("annotations", notes)
	}
	if o.Response != "" {
		updated.set("response", o.Response)
	}
	return updated
}
