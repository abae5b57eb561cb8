package transcript

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// tool returns the dialect of the tool's blocks.
func tool() dialect.Dialect {
	d, _ := dialect.Lookup("claude-code")
	return d
}

// resultBlock is a tool_result block of a recorded conversation.
type resultBlock struct {
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error,omitempty"`
}

// Result returns the tool_result block for the tool_use block with this id.
func Result(toolUseID string, a *ask.Ask, o *ask.Outcome) ([]byte, error) {
	content, err := plain(dialect.Report(a, o))
	if err != nil {
		return nil, err
	}
	return plain(resultBlock{
		Type: "tool_result", ToolUseID: toolUseID, Content: content,
		IsError: o.Status == ask.StatusWithdrawn || o.Status == ask.StatusAborted,
	})
}

// readResult decodes the tool_result block of a. A result that does not match the questions becomes
// a free-text response; ok is false if the block is an error or empty.
func readResult(a *ask.Ask, block []byte) (reply ask.Reply, ok bool, err error) {
	var b resultBlock
	if err := json.Unmarshal(block, &b); err != nil {
		return ask.Reply{}, false, err
	}
	if b.IsError || len(b.Content) == 0 || string(b.Content) == "null" {
		return ask.Reply{}, false, nil
	}
	given, err := tool().Reply(a, b.Content)
	if err != nil { // an object that does not fit is what was said, all the same
		return ask.Reply{Response: string(b.Content)}, true, nil //nolint:nilerr // the text is kept
	}
	said := given.Reply.Response != "" || slices.ContainsFunc(given.Reply.Answers, func(ans ask.Answer) bool { return !ans.Empty() })
	return given.Reply, given.Decision == dialect.Replied && said, nil
}

// plain encodes JSON without HTML escaping.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
