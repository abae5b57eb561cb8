package hostcall

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// The options of a permission. Those that also grant a scope are named scopeOption and the index of the
// host's suggestion.
const (
	allowOption  = "allow"
	refuseOption = "refuse"
	stopOption   = "stop"
	scopeOption  = "scope-"
)

// permission is a request of the host to permit one tool call.
type permission struct {
	tool    string
	input   json.RawMessage
	server  string // the MCP server of the tool, as the host names it
	scopes  []scope
	changes string // the diff that the host made itself
	mute    bool   // the agent is not told why it is refused
}

// scope is an entry of permission_suggestions: what a person can permit beyond this call.
type scope struct {
	Type        string   `json:"type"`
	Rules       []rule   `json:"rules"`
	Behavior    string   `json:"behavior"`
	Mode        string   `json:"mode"`
	Directories []string `json:"directories"`
	Destination string   `json:"destination"`
	given       []member // the whole entry
	option      string   // the id of its option; empty: it is not offered
}

type rule struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent"`
}

// session is the destination of a scope that ends with the host's process. All others stay in a file.
const session = "session"

// maxSuggestions bounds what is read of permission_suggestions.
const maxSuggestions = 20

// readPermission decodes a PermissionRequest, PostToolUse or PostToolUseFailure of any tool.
func readPermission(name string, fields []member) (Event, error) {
	p := &permission{tool: textOf(fields, "tool_name"), input: rawOf(fields, "tool_input")}
	switch _, err := members(p.input); {
	case p.tool == "":
		return Event{}, refusal("/tool_name", ask.FaultMissing, "string")
	case err != nil:
		return Event{}, noObject("/tool_input", p.input)
	}
	p.server = textOf(fields, "mcp_server")
	if server, _, ok := strings.Cut(strings.TrimPrefix(p.tool, "mcp__"), "__"); ok && p.server == "" && strings.HasPrefix(p.tool, "mcp__") {
		p.server = server
	}
	var suggestions []json.RawMessage
	if raw := rawOf(fields, "permission_suggestions"); raw != nil && json.Unmarshal(raw, &suggestions) != nil {
		return Event{}, refusal("/permission_suggestions", ask.FaultNotArray)
	}
	for _, raw := range suggestions[:min(len(suggestions), maxSuggestions)] {
		var s scope
		given, err := members(raw)
		if err == nil && json.Unmarshal(raw, &s) == nil {
			s.given = given
		}
		p.scopes = append(p.scopes, s) // also one that is not understood, which keeps the indexes
	}
	return Event{
		Name: name, CWD: textOf(fields, "cwd"), Place: place(fields), Mode: textOf(fields, "permission_mode"), permission: p,
		Ask: ask.Ask{Session: ask.Token(textOf(fields, "session_id"))},
	}, nil
}

// Permission reports whether the event is about the permission of a tool call, and not about a question.
func (e Event) Permission() bool { return e.permission != nil }

// Permits identifies the permitted call: a hash of its tool, its input byte by byte, its directory and its
// sub-agent. The host gives a permission no id.
func (e Event) Permits() string {
	h := sha256.New()
	for _, part := range append([]string{e.permission.tool, string(e.permission.input)}, e.Place...) {
		_, _ = fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// PermittedBy reports whether a is the ask for the permission of this event's call.
func (e Event) PermittedBy(a *ask.Ask) bool {
	held, _ := a.Metadata[ask.MetadataPermission].(string)
	return held != "" && held == e.Permits()
}

// Word fills the ask of a permission in a language, and says of a form whose it is. Lasting says whether a person may also permit what stays
// in the host's files; otherwise the same is offered for the host's session.
func (e *Event) Word(l *lang.Language, lasting bool) {
	if e.form {
		e.Ask.Context = strings.TrimSpace(l.Say("The MCP server %s asks.", code(e.server)) + "\n\n" + e.Ask.Context)
	}
	p := e.permission
	if p == nil {
		return
	}
	for i := range p.scopes {
		p.scopes[i].limit(lasting)
	}
	q := ask.Question{ID: "permission", Kind: ask.KindChoice, Header: l.Say("Permission"), Text: p.question(l), NoOther: true}
	q.Options = append(q.Options, ask.Option{ID: allowOption, Label: l.Say("Yes"), Description: l.Say("Only this once."), Preview: p.preview()})
	labels := []string{}
	for i := range p.scopes {
		if label := p.scopes[i].label(l); label != "" && !slices.Contains(labels, label) {
			labels = append(labels, label)
			p.scopes[i].option = fmt.Sprint(scopeOption, i)
			q.Options = append(q.Options, ask.Option{ID: p.scopes[i].option, Label: label})
		}
	}
	why := l.Say("A note to it tells the agent why.")
	if p.mute {
		why = l.Say("The agent goes on without it, and is not told why.")
	}
	denies := []string{refuseOption}
	q.Options = append(q.Options, ask.Option{ID: refuseOption, Label: l.Say("No"), Description: why})
	if !e.host.First {
		denies = append(denies, stopOption)
		q.Options = append(q.Options, ask.Option{ID: stopOption, Label: l.Say("No, and stop"), Description: l.Say("The agent's turn ends.")})
	}
	e.Ask.Questions = []ask.Question{q}
	showCall(e, l)
	e.Ask.Metadata = map[string]any{ask.MetadataPermission: e.Permits(), ask.MetadataTool: p.tool, ask.MetadataDenies: denies}
	if p.runs() { // a model may give any other tool an argument of that name, and policies relax by commands
		e.Ask.Metadata[ask.MetadataCommand] = p.text("command")
	}
}

// limit makes a lasting scope one of the session, unless lasting ones are offered.
func (s *scope) limit(lasting bool) {
	if lasting || s.Destination == session || s.Destination == "" {
		return
	}
	s.Destination = session
	for i := range s.given {
		if s.given[i].key == "destination" {
			s.given[i].raw = encode(session)
		}
	}
}

// label returns the words of a scope, or "" if it is one that this program cannot describe: that is never
// offered.
func (s *scope) label(l *lang.Language) string {
	where, ok := map[string]string{
		session:           l.Say("in this session"),
		"localSettings":   l.Say("in this project"),
		"projectSettings": l.Say("in this project, for everybody who works on it"),
		"userSettings":    l.Say("in all your projects"),
	}[s.Destination]
	switch {
	case !ok:
	case s.Type == "addRules" && s.Behavior == "allow" && len(s.Rules) > 0:
		var rules []string
		for _, r := range s.Rules {
			if r.Tool == "" {
				return ""
			}
			words := r.Tool
			if r.Content != "" {
				words += "(" + r.Content + ")"
			}
			rules = append(rules, code(words))
		}
		return fitting(l.Say("Yes, and don't ask again for %s %s", strings.Join(rules, ", "), where))
	case s.Type == "setMode" && s.Mode == "acceptEdits":
		return l.Say("Yes, and accept all edits %s", where)
	case s.Type == "addDirectories" && len(s.Directories) > 0:
		var dirs []string
		for _, dir := range s.Directories {
			dirs = append(dirs, code(dir))
		}
		return fitting(l.Say("Yes, and allow access to %s %s", strings.Join(dirs, ", "), where))
	}
	return ""
}

// fitting returns a label, or "" if it is too long to be shown whole.
func fitting(label string) string {
	if len([]rune(label)) > ask.MaxLabel {
		return ""
	}
	return label
}

// permit returns the decision for the outcome of a permission: nil leaves it to the host. Only the
// choice of one option by a person allows anything.
func (e Event) permit(o *ask.Outcome) *verdict {
	if e.Name != PermissionRequest {
		return nil
	}
	v := &verdict{Behavior: "deny"}
	chosen := o.Answer("permission")
	switch {
	case o.Status == ask.StatusCancelled && o.CancelledBy == nil:
		v.Message = ending(&e.Ask, o)
	case o.Status == ask.StatusCancelled: // denied by votes that a policy demanded
		v.Interrupt = o.CancelledBy.OptionID == stopOption
		if v.Message = strings.TrimSpace(o.Reason); v.Message == "" {
			v.Message = dialect.Report(&e.Ask, o)
		}
	case o.Status != ask.StatusAnswered || o.Source != ask.SourceHuman:
		return nil
	case chosen == nil || len(chosen.Selected) != 1:
		if v.Message = o.Response; v.Message == "" {
			return nil
		}
	case chosen.Selected[0] == refuseOption, chosen.Selected[0] == stopOption:
		v.Interrupt = chosen.Selected[0] == stopOption
		if v.Message = strings.TrimSpace(chosen.Notes + "\n" + o.Response); v.Message == "" {
			v.Message = dialect.Report(&e.Ask, o)
		}
	case chosen.Selected[0] == allowOption:
		v.Behavior = "allow"
	default:
		i := slices.IndexFunc(e.permission.scopes, func(s scope) bool { return s.option != "" && s.option == chosen.Selected[0] })
		if i < 0 {
			return nil
		}
		v.Behavior, v.Permissions = "allow", encode([]json.RawMessage{join(e.permission.scopes[i].given)})
	}
	return v
}
