package transcript

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// awaitTool is the tool of askbus's MCP server that continues the wait for an ask.
const awaitTool = "AwaitAnswer"

// askID matches the id of an ask in a pending result.
var askID = regexp.MustCompile(`\(ask_id ([A-Za-z0-9_-]{1,64})\)`)

// toolName strips our MCP server's prefix from a tool's name: mcp__askbus__AskUserQuestion.
func toolName(name string) string {
	rest, ok := strings.CutPrefix(name, "mcp__")
	server, tool, both := strings.Cut(rest, "__")
	if ok && both && strings.Contains(strings.ToLower(server), "askbus") {
		return tool
	}
	return name
}

// renamed returns a tool_use block with the tool's bare name.
func renamed(block json.RawMessage, name string) json.RawMessage {
	own := toolName(name)
	if own == name {
		return block
	}
	quoted, _ := json.Marshal(name) // cannot fail: strings encode
	short, _ := json.Marshal(own)
	return bytes.Replace(block, quoted, short, 1)
}
