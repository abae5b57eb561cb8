package acp

import (
	"encoding/json"
	"strings"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/pkg/ask"
)

// declare adds elicitation.form to an editor's initialize request, and reports whether the editor
// declared it itself; then the line is unchanged. In ACP an empty elicitation object declares
// nothing, unlike in MCP.
func declare(line []byte) (out []byte, forms bool) {
	whole, ok := relay.Object(line)
	if !ok {
		return line, false
	}
	params, _ := relay.Object(whole["params"])
	var version float64
	_ = json.Unmarshal(params["protocolVersion"], &version) // invalid: 0
	names := []string{"clientCapabilities"}
	if version >= 2 {
		names = []string{"capabilities"}
		if _, also := params["clientCapabilities"]; also { // for an agent of version 1
			names = append(names, "clientCapabilities")
		}
	}
	changed := false
	for _, name := range names {
		capabilities, _ := relay.Object(params[name])
		elicitation, _ := relay.Object(capabilities["elicitation"])
		if _, ok := relay.Object(elicitation["form"]); ok {
			forms = true
			continue
		}
		elicitation["form"] = json.RawMessage("{}")
		capabilities["elicitation"] = encode(elicitation)
		params[name] = encode(capabilities)
		changed = true
	}
	if !changed {
		return line, forms
	}
	whole["params"] = encode(params)
	return append(encode(whole), '\n'), forms
}

func encode(m map[string]json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.TrimSuffix(string(jsonrpc.Line(m)), "\n"))
}

// agentName returns the agent's name from its response to initialize.
func agentName(response json.RawMessage) string {
	type info struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	}
	var r struct {
		V1 info `json:"agentInfo"`
		V2 info `json:"info"`
	}
	_ = json.Unmarshal(response, &r) // invalid: no name
	for _, name := range []string{r.V1.Title, r.V1.Name, r.V2.Title, r.V2.Name} {
		if name = ask.CleanLine(name); name != "" {
			return string([]rune(name)[:min(len([]rune(name)), ask.MaxName)])
		}
	}
	return ""
}
