package transcript

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// awaitTool is the tool of askbus's MCP server that waits on for an ask.
const awaitTool = "AwaitAnswer"

// askID finds the id of an ask in a result that says that it is pending.
var askID = regexp.MustCompile(`\(ask_id ([A-Za-z0-9_-]{1,64})\)`)

// toolName is the name of a tool without the MCP server's, if that is ours:
// mcp__askbus__AskUserQuestion.
func toolName(name string) string {
	rest, ok := strings.CutPrefix(name, "mcp__")
	server, tool, both := strings.Cut(rest, "__")
	if ok && both && strings.Contains(strings.ToLower(server), "askbus") {
		return tool
	}
	return name
}

// renamed is a tool_use block under the tool's own name.
func renamed(block json.RawMessage, name string) json.RawMessage {
	own := toolName(name)
	if own == name {
		return block
	}
	quoted, _ := json.Marshal(name) // strings can be written
	short, _ := json.Marshal(own)
	return bytes.Replace(block, quoted, short, 1)
}
