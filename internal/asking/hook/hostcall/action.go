package hostcall

import (
	"encoding/json"
	"slices"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// Action is what a host other than Claude Code wants permitted.
type Action struct {
	Tool   string          // as the host names it; "bash" runs "command" of the input, "edit" changes "filePath"
	Input  json.RawMessage // an object
	Diff   string          // of an edit, as the host shows it
	Dir    string          // where the host runs it
	Always []string        // what a person may permit from now on, as the host words its rules; empty: that is not offered
	Place  []string        // what else tells two actions apart
}

// Choice is what a person decided about an [Action].
type Choice string

// The choices. A refusal with words lets the agent go on, one without ends its turn.
const (
	Undecided Choice = "" // nobody decided: the host's own dialog goes on
	Once      Choice = "once"
	Always    Choice = "always"
	Reject    Choice = "reject"
)

// ReadAction returns the prompt for an action.
func ReadAction(a Action, l *lang.Language) (Prompt, error) {
	if _, err := members(a.Input); err != nil {
		return Prompt{}, noObject("/input", a.Input)
	}
	p := &permission{tool: a.Tool, input: a.Input, changes: a.Diff}
	switch {
	case a.Tool == "bash" && p.text("command") != "":
		p.tool = "Bash"
	case a.Tool == "edit" && a.Diff != "" && p.text("filePath") != "":
		p.tool = "Edit"
	}
	if len(a.Always) > 0 {
		s := scope{Type: "addRules", Behavior: "allow", Destination: "localSettings"}
		for _, content := range a.Always {
			s.Rules = append(s.Rules, rule{Tool: a.Tool, Content: content})
		}
		p.scopes = []scope{s}
	}
	e := Event{Name: PermissionRequest, CWD: a.Dir, Place: a.Place, permission: p}
	e.Word(l, true)
	return Prompt{Ask: e.Ask, event: e, input: a.Input}, nil
}

// Choice returns what a person chose, and the words of a refusal.
func (p *Prompt) Choice(o *ask.Outcome) (c Choice, message string) {
	var out hookOutput
	if raw := p.event.permit(o); raw == nil || json.Unmarshal(raw, &out) != nil || out.Specific.Dialog == nil {
		return Undecided, ""
	}
	switch v := out.Specific.Dialog; {
	case v.Interrupt:
		return Reject, ""
	case v.Behavior != "allow":
		return Reject, v.Message
	case v.Permissions != nil:
		return Always, ""
	}
	return Once, ""
}

// hides reports whether the diff says what a member of an edit's input says.
func (p *permission) hides(key string) bool {
	return p.changes != "" && slices.Contains([]string{"filePath", "oldString", "newString", "content"}, key)
}
