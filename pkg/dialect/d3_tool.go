package dialect

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// ToolCall is a call of the MCP tool.
type ToolCall struct {
	Ask      ask.Ask // with its id, when the call gives one
	Warnings []Warning
	Wait     time.Duration // how long the call wants to wait; negative: it does not say
}

// ToolResult is what the MCP tool returns.
type ToolResult struct {
	Text       string // for the model to read
	Structured []byte // a JSON object
	IsError    bool
}

// D3Tool reads the input of the MCP tool: that of D3, or one question as in
// D4 without a session; and our own wait_seconds, timeout and ask_id.
func D3Tool(input []byte) (ToolCall, error) {
	b := newBuilder("d3")
	v, err := b.parse(input)
	if err != nil {
		return ToolCall{}, err
	}
	v.body()
	if v.field("question").given() && !v.field("questions").given() {
		b.origin["name"] = "d3-single"
		b.single(v)
	} else {
		b.d3Input(v)
	}
	b.times(v)
	if id := v.field("ask_id"); id.given() {
		if b.ask.ID = id.string(); !ask.ValidToken(b.ask.ID) {
			id.fault("is %q; use 1 to %d of A-Z a-z 0-9 _ -", clip(b.ask.ID), ask.MaxToken)
		}
	}
	call := ToolCall{Wait: -1}
	if n := v.field("wait_seconds").number(); n != nil {
		if *n < 0 {
			v.field("wait_seconds").fault("is %v; give 0 or more", *n)
		}
		call.Wait = time.Duration(min(*n, ask.MaxHold.Seconds()) * float64(time.Second))
	}
	call.Ask, call.Warnings, err = b.finish()
	if err != nil {
		return ToolCall{}, err
	}
	return call, nil
}

// D3ToolResult is the result of a call whose ask has ended.
func D3ToolResult(a *ask.Ask, o *ask.Outcome) ToolResult {
	r := rowOf(o)
	result := ToolResult{Text: report(a, o), IsError: r == rowWithdrawn || r == rowAborted}
	if !cameAs(a, "d3-single") {
		result.Structured = encode(d3Output(a, o))
		return result
	}
	body := ordered().ending(a, o, "")
	if r.decided() {
		body = d4Result(a, o).ending(a, o, "")
	}
	result.Structured = encode(body)
	return result
}

// D3ToolPending is the result of a call whose wait is over while the ask stays
// open. The hint says how to wait on.
func D3ToolPending(a *ask.Ask, p Pending) ToolResult {
	return ToolResult{
		Text:       "pending: " + p.hint(a) + " (ask_id " + a.ID + ")",
		Structured: encode(waiting(a, p)),
	}
}
