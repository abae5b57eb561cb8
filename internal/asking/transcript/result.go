package transcript

import (
	"encoding/json"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// readResult decodes a tool_result block, the result of a. A result that does not match the questions becomes
// a free-text response; ok is false if the block is an error or empty.
func readResult(a *ask.Ask, block []byte) (reply ask.Reply, ok bool, err error) {
	var b struct {
		Content json.RawMessage `json:"content"`
		IsError bool            `json:"is_error"`
	}
	if err := json.Unmarshal(block, &b); err != nil {
		return ask.Reply{}, false, err
	}
	if b.IsError || len(b.Content) == 0 || string(b.Content) == "null" {
		return ask.Reply{}, false, nil
	}
	given, err := dialect.Named("claude-code").Reply(a, b.Content)
	if err != nil { // an object that does not fit is what was said, all the same
		return ask.Reply{Response: string(b.Content)}, true, nil //nolint:nilerr // the text is kept
	}
	said := given.Reply.Response != "" || slices.ContainsFunc(given.Reply.Answers, func(ans ask.Answer) bool { return !ans.Empty() })
	return given.Reply, given.Decision == dialect.Replied && said, nil
}
