package hostcall

import (
	"encoding/json"
	"slices"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// Prompt is a call of a host's permission-prompt tool (--permission-prompt-tool): a question of the tool
// AskUserQuestion, or the permission of another tool's call.
type Prompt struct {
	Ask      ask.Ask
	Files    []dialect.Upload // that the ask refers to
	question *Callback
	event    Event
	input    json.RawMessage
}

// ReadPrompt decodes { tool_name, input, tool_use_id? }.
func ReadPrompt(body []byte, l *lang.Language) (Prompt, error) {
	fields, err := members(body)
	if err != nil {
		return Prompt{}, err
	}
	if textOf(fields, "tool_name") == dialect.ToolName {
		c, err := ReadCallback(body)
		return Prompt{Ask: c.Ask, question: &c}, err
	}
	input := rawOf(fields, "input")
	if _, err := members(input); err != nil {
		return Prompt{}, noObject("/input", input)
	}
	e, err := readPermission(PermissionRequest, append(fields, member{"tool_input", input}))
	if err != nil {
		return Prompt{}, err
	}
	e.Word(l, false)
	return Prompt{Ask: e.Ask, Files: e.Files, event: e, input: input}, nil
}

// ReadCall returns the prompt for a call of an MCP server's tool. Its agent has no turn that a person could end.
func ReadCall(server, tool string, arguments json.RawMessage, l *lang.Language) (Prompt, error) {
	if _, err := members(arguments); err != nil {
		return Prompt{}, refusal("/arguments", "is not an object")
	}
	p := &permission{tool: "mcp__" + server + "__" + tool, server: server, input: arguments}
	e := Event{Name: PermissionRequest, permission: p}
	e.Word(l, false)
	prompt := Prompt{Ask: e.Ask, Files: e.Files, event: e, input: arguments}
	prompt.CannotStop()
	return prompt, nil
}

// MarkDestructive marks what allows the call as destructive.
func (p *Prompt) MarkDestructive() {
	options := p.Ask.Questions[0].Options
	for i := range options {
		options[i].Destructive = options[i].ID != refuseOption && options[i].ID != stopOption
	}
}

// Allows reports whether a person allowed the call, and otherwise what the agent is told.
func (p *Prompt) Allows(o *ask.Outcome) (allowed bool, message string) {
	var v verdict
	if err := json.Unmarshal(p.Decide(o), &v); err != nil {
		return false, err.Error()
	}
	return v.Behavior == "allow", v.Message
}

// Decide returns the tool's result. It never allows anything but what a person chose.
func (p *Prompt) Decide(o *ask.Outcome) []byte {
	if p.question != nil {
		return p.question.Decide(o)
	}
	v := p.event.permit(o)
	if v == nil {
		return encode(verdict{Behavior: "deny", Message: dialect.Report(&p.Ask, o)})
	}
	if v.Behavior == "allow" {
		v.Updated = p.input
	}
	return encode(v)
}

// Refuse returns the tool's result when nobody decided.
func Refuse(reason string) []byte { return encode(verdict{Behavior: "deny", Message: reason}) }

// CannotStop takes away the option that ends the agent's turn.
func (p *Prompt) CannotStop() {
	q := &p.Ask.Questions[0]
	q.Options = slices.DeleteFunc(q.Options, func(o ask.Option) bool { return o.ID == stopOption })
}
