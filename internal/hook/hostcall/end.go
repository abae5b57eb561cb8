package hostcall

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
)

// metadataHook is the entry of [ask.Ask.Metadata] that marks what a hook asked:
// only that ends with the host's turn, not what the session asked otherwise.
const metadataHook = "askbus_hook"

// MarkAsked notes in an ask that a hook asked it.
func MarkAsked(a *ask.Ask) {
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	a.Metadata[metadataHook] = true
}

// Ends reports whether the event ends a question: a hook asked it, for the
// agent that the event is about.
func (e End) Ends(a *ask.Ask) bool { return a.Metadata[metadataHook] != nil && e.Concerns(a.Agent.ID) }

// Agent is the sub-agent that an event is about; a host says nothing of its
// main one.
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

// The hook events after which questions are no longer waited for.
const (
	Stop             = "Stop"             // the main agent's turn is over
	SubagentStop     = "SubagentStop"     // a sub-agent's
	SessionEnd       = "SessionEnd"       // the whole session
	UserPromptSubmit = "UserPromptSubmit" // the person goes on by typing: what was interrupted is not waited for
)

// End says that questions of a session are no longer waited for.
type End struct {
	Name    string
	Session string // the host's, as it calls it
	Agent   string // the sub-agent that stopped
}

// ReadEnd reads an event of these. It is not ok for every other.
func ReadEnd(body []byte) (e End, ok bool) {
	fields, err := members(body)
	if err != nil {
		return End{}, false
	}
	e = End{textOf(fields, "hook_event_name"), textOf(fields, "session_id"), textOf(fields, "agent_id")}
	return e, slices.Contains([]string{Stop, SubagentStop, SessionEnd, UserPromptSubmit}, e.Name)
}

// Concerns reports whether a question of an agent, "" for the main one, is what
// the event is about. Sub-agents may go on in the background when the main
// agent stops.
func (e End) Concerns(agent string) bool {
	switch e.Name {
	case SessionEnd:
		return true
	case SubagentStop:
		return e.Agent != "" && agent == e.Agent
	}
	return agent == ""
}

// Words is why the question was taken back.
func (e End) Words() string {
	switch e.Name {
	case SessionEnd:
		return "the agent's session has ended"
	case UserPromptSubmit:
		return "the question was interrupted, and the conversation goes on"
	}
	if e.Name == SubagentStop {
		return "the sub-agent has stopped and no longer waits"
	}
	return "the agent has stopped and no longer waits"
}
