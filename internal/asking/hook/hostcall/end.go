package hostcall

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
)

// metadataHook is the entry of [ask.Ask.Metadata] that marks a hook's asks: only those end with the
// host's turn.
const metadataHook = "askbus_hook"

// MarkAsked marks an ask as a hook's.
func MarkAsked(a *ask.Ask) {
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	a.Metadata[metadataHook] = true
}

// Ends reports whether the event ends a question: a hook asked it, for the event's agent.
func (e End) Ends(a *ask.Ask) bool { return a.Metadata[metadataHook] != nil && e.concerns(a.Agent.ID) }

// Agent returns the sub-agent of an event; hosts do not name their main agent.
func Agent(body []byte) ask.Agent {
	var v struct {
		ID   string `json:"agent_id"`
		Type string `json:"agent_type"`
		CWD  string `json:"cwd"`
	}
	if err := json.Unmarshal(body, &v); err != nil || v.ID == "" && v.Type == "" {
		return ask.Agent{}
	}
	parent := "main"
	if v.CWD != "" {
		parent = "agent in " + filepath.Base(v.CWD)
	}
	return ask.Agent{ID: v.ID, Name: v.Type, Parent: parent}
}

// The hook events after which questions are no longer awaited.
const (
	stop             = "Stop"             // the main agent's turn is over
	subagentStop     = "SubagentStop"     // a sub-agent's turn is over
	sessionEnd       = "SessionEnd"       // the whole session is over
	userPromptSubmit = "UserPromptSubmit" // the person typed: interrupted questions are no longer awaited
)

// End is an event after which questions of a session are no longer awaited.
type End struct {
	Name    string
	Session string // the host's name of it
	Agent   string // the stopped sub-agent; empty: the main agent
}

// ReadEnd decodes an end event; ok is false for all others.
func ReadEnd(body []byte) (e End, ok bool) {
	fields, err := members(body)
	if err != nil {
		return End{}, false
	}
	e = End{textOf(fields, "hook_event_name"), textOf(fields, "session_id"), textOf(fields, "agent_id")}
	return e, slices.Contains([]string{stop, subagentStop, sessionEnd, userPromptSubmit}, e.Name)
}

// concerns reports whether the event affects the questions of an agent; "" is the main one.
// Sub-agents may continue in the background when the main agent stops.
func (e End) concerns(agent string) bool {
	switch e.Name {
	case sessionEnd:
		return true
	case subagentStop:
		return e.Agent != "" && agent == e.Agent
	}
	return agent == ""
}

// Words returns the reason of the withdrawal.
func (e End) Words() string {
	switch e.Name {
	case sessionEnd:
		return "the agent's session has ended"
	case userPromptSubmit:
		return "the question was interrupted, and the conversation goes on"
	case subagentStop:
		return "the sub-agent has stopped and no longer waits"
	}
	return "the agent has stopped and no longer waits"
}
