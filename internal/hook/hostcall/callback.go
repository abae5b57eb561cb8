package hostcall

import (
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// Callback is what an agent SDK asks its permission callback.
type Callback struct {
	Ask      ask.Ask
	Warnings []dialect.Warning
	input    []member // as it was given, to be echoed
}

// ReadCallback reads the call of a permission callback: the tool's input
// itself, or { tool_name?, input, tool_use_id?, session_id? }.
func ReadCallback(body []byte) (Callback, error) {
	fields, _ := members(body) // what is not an object the dialect refuses
	a, warnings, input, err := read(body, fields)
	if err != nil {
		return Callback{}, err
	}
	return Callback{Ask: a, Warnings: warnings, input: input}, nil
}

// Decide is what the callback returns: allow with the answers, or deny with
// the reason. It never allows without an answer.
func (c Callback) Decide(o *ask.Outcome) []byte {
	if updated := updatedInput(&c.Ask, c.input, o); updated != nil {
		return encode(verdict{Behavior: "allow", Updated: updated})
	}
	return encode(verdict{Behavior: "deny", Message: dialect.Report(&c.Ask, o)})
}
