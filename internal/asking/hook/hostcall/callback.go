package hostcall

import (
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// Callback is a call of an agent SDK's permission callback.
type Callback struct {
	Ask      ask.Ask
	Warnings []dialect.Warning
	Place    []string // where the host runs the call: working directory and sub-agent
	input    []member // as given, for the response
}

// ReadCallback decodes the call of a permission callback: the tool's input itself, or { tool_name?,
// input, tool_use_id?, session_id? }.
func ReadCallback(body []byte) (Callback, error) {
	fields, _ := members(body) // the dialect rejects other values
	a, warnings, input, err := read(body, fields)
	if err != nil {
		return Callback{}, err
	}
	return Callback{Ask: a, Warnings: warnings, Place: place(fields), input: input}, nil
}

// Decide returns the callback's response: allow with the answers, or deny with the reason. It never
// allows without an answer.
func (c Callback) Decide(o *ask.Outcome) []byte {
	if updated := updatedInput(&c.Ask, c.input, o); updated != nil {
		return encode(verdict{Behavior: "allow", Updated: updated})
	}
	return encode(verdict{Behavior: "deny", Message: dialect.Report(&c.Ask, o)})
}
