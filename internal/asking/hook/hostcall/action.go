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
	Server string          // the MCP server of the tool, which is then named mcp__<server>__<tool>
	Diff   string          // of an edit, as the host shows it
	Dir    string          // where the host runs it
	Grants []Grant         // what a person may permit beyond this action
	Mute   bool            // the agent is not told why it is refused
	Place  []string        // what else tells two actions apart
}

// Grant is what a person may permit beyond one action.
type Grant struct {
	Rules []string // as the host words them; "" is the tool as such
	Where Where
}

// Where says how long and where a [Grant] holds.
type Where string

// The places. Only the first ends with the host's process.
const (
	InSession Where = session
	InProject Where = "localSettings"
	InAll     Where = "userSettings"
)

// Choice is what a person decided about an [Action].
type Choice string

// The choices.
const (
	Undecided Choice = "" // nobody decided: the host's own dialog goes on
	Once      Choice = "once"
	Granted   Choice = "granted" // and one of the grants
	Refused   Choice = "refused" // the agent goes on without it
	Stopped   Choice = "stopped" // and its turn ends
)

// Decision is a [Choice] with what belongs to it.
type Decision struct {
	Choice  Choice
	Grant   int    // the index of what is granted
	Message string // why it is refused
}

// ReadAction returns the prompt for an action.
func ReadAction(a Action, l *lang.Language) (Prompt, error) {
	if _, err := members(a.Input); err != nil {
		return Prompt{}, noObject("/input", a.Input)
	}
	p := &permission{tool: a.Tool, input: a.Input, server: a.Server, changes: a.Diff, mute: a.Mute}
	switch {
	case a.Tool == "bash" && p.text("command") != "":
		p.tool = "Bash"
	case a.Tool == "edit" && a.Diff != "" && p.text("filePath") != "":
		p.tool = "Edit"
	}
	for _, g := range a.Grants {
		s := scope{Type: "addRules", Behavior: "allow", Destination: string(g.Where)}
		for _, content := range g.Rules {
			s.Rules = append(s.Rules, rule{Tool: a.Tool, Content: content})
		}
		p.scopes = append(p.scopes, s)
	}
	e := Event{Name: PermissionRequest, CWD: a.Dir, Place: a.Place, permission: p}
	e.Word(l, true)
	return Prompt{Ask: e.Ask, Files: e.Files, event: e, input: a.Input}, nil
}

// Decision returns what a person chose.
func (p *Prompt) Decision(o *ask.Outcome) Decision {
	switch v := p.event.permit(o); {
	case v == nil:
		return Decision{}
	case v.Interrupt:
		return Decision{Choice: Stopped}
	case v.Behavior != "allow":
		return Decision{Choice: Refused, Message: v.Message}
	case v.Permissions != nil:
		chosen := o.Answer("permission").Selected[0]
		return Decision{Choice: Granted, Grant: slices.IndexFunc(p.event.permission.scopes, func(s scope) bool { return s.option == chosen })}
	}
	return Decision{Choice: Once}
}

// Reply returns the answer of a person who decided this in the host's own dialog. A grant that is not offered
// elsewhere is permitted once as far as the bus knows.
func (p *Prompt) Reply(d Decision) ask.Reply {
	option := map[Choice]string{Once: allowOption, Granted: allowOption, Refused: refuseOption, Stopped: stopOption}[d.Choice]
	if scopes := p.event.permission.scopes; d.Choice == Granted && d.Grant >= 0 && d.Grant < len(scopes) && scopes[d.Grant].option != "" {
		option = scopes[d.Grant].option
	}
	return ask.Reply{Answers: []ask.Answer{{QuestionID: "permission", Selected: []string{option}, Notes: d.Message}}}
}

// hides reports whether the diff says what a member of an edit's input says.
func (p *permission) hides(key string) bool {
	return p.changes != "" && (slices.Contains([]string{"filePath", "oldString", "newString", "content"}, key) || p.text(key) == p.changes)
}
