package dialect

import "github.com/askbus/askbus/pkg/ask"

// TranscriptAsk reads a tool_use block of a recorded conversation. The ask's
// id is the block's, as a token. A block that is not one of this tool's is no
// error: then ok is false.
func TranscriptAsk(block []byte) (a ask.Ask, warnings []Warning, ok bool, err error) {
	b := newBuilder("d3")
	v, err := b.parse(block)
	if err != nil {
		return ask.Ask{}, nil, false, err
	}
	if name, _ := v.field("name").raw.(string); v.field("type").raw != "tool_use" || name != D3ToolName {
		return ask.Ask{}, nil, false, nil
	}
	b.askID(v.field("id").need())
	input := v.field("input")
	if !input.given() {
		input.fault("is missing; give the tool's input")
	}
	b.d3Input(input)
	if a, warnings, err = b.finish(); err != nil {
		return ask.Ask{}, nil, false, err
	}
	return a, warnings, true, nil
}

// TranscriptAnswer writes the tool_result block for an outcome.
func TranscriptAnswer(a *ask.Ask, o *ask.Outcome) []byte {
	result := D3ToolResult(a, o)
	block := ordered("type", "tool_result", "tool_use_id", recall(a, a.ID, "id"), "content", result.Text)
	if result.IsError {
		block.set("is_error", true)
	}
	return encode(block)
}

// TranscriptReply reads the tool_result block that answers a. What cannot be
// read by question is one free response; ok is false when the block is not
// about a, is an error, or says nothing.
func TranscriptReply(a *ask.Ask, block []byte) (reply ask.Reply, ok bool, err error) {
	r := &reader{what: "tool_result block"}
	v, err := r.parse(block)
	if err != nil {
		return ask.Reply{}, false, err
	}
	failed := v.field("is_error").bool(false)
	if v.field("type").raw != "tool_result" || v.field("tool_use_id").raw != recall(a, a.ID, "id") || failed {
		return ask.Reply{}, false, r.err()
	}
	reply, ok = nativeReply(a, v.field("content").raw)
	return reply, ok, r.err()
}
