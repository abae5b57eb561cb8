package hostcall

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// The hook events about a question, or the permission of another tool's call.
const (
	PreToolUse         = "PreToolUse"         // the tool is about to ask
	PermissionRequest  = "PermissionRequest"  // the terminal's dialog is open
	PostToolUse        = "PostToolUse"        // the question was answered in the terminal; the permitted call has ended
	PostToolUseFailure = "PostToolUseFailure" // the permitted call has failed
)

// Event is a hook event of a coding agent's CLI.
type Event struct {
	Name     string
	Ask      ask.Ask          // its id is the tool use's and its session the agent's, as tokens
	Files    []dialect.Upload // that the ask refers to
	Warnings []dialect.Warning
	CWD      string
	Place    []string // where the host runs the call: working directory and sub-agent
	Mode     string   // the permission mode
	input    []member
	response json.RawMessage // PostToolUse: the tool's output

	permission *permission // instead of a question
	form       bool        // of an MCP server, instead of a question
	server     string      // of the form
	host       Host
}

// ReadEvent decodes an event of Claude Code.
func ReadEvent(body []byte) (Event, bool, error) { return Host{}.ReadEvent(body) }

// ReadEvent decodes the JSON on a hook's standard input. An event about neither a question nor a
// permission is not an error: then ok is false and the hook prints nothing. The ask of a permission or of a form
// needs [Event.Word].
func (h Host) ReadEvent(body []byte) (e Event, ok bool, err error) {
	fields, _ := members(body) // what is not an object the dialect refuses below
	if fields != nil && h.First {
		if fields, ok = h.claudes(fields); !ok {
			return Event{}, false, nil
		}
		body = join(fields)
	}
	e, ok, err = readEvent(body, fields)
	if e.host = h; e.permission != nil && e.permission.tool == "Edit" && h.patch != "" {
		e.permission.changes = e.permission.text(h.patch)
	}
	return e, ok, err
}

func readEvent(body []byte, fields []member) (e Event, ok bool, err error) {
	name := textOf(fields, "hook_event_name")
	switch {
	case fields == nil:
	case name == "":
		return Event{}, false, refusal("/hook_event_name", ask.FaultMissing, "string")
	case name == Elicitation:
		return readForm(fields)
	case textOf(fields, "tool_name") != dialect.ToolName && slices.Contains([]string{PermissionRequest, PostToolUse, PostToolUseFailure}, name):
		e, err = readPermission(name, fields)
		return e, err == nil, err
	case !slices.Contains([]string{PreToolUse, PermissionRequest, PostToolUse}, name) || textOf(fields, "tool_name") != dialect.ToolName:
		return Event{}, false, nil
	}
	a, warnings, input, err := read(body, fields)
	if err != nil {
		return Event{}, false, err
	}
	return Event{
		Name: name, Ask: a, Warnings: warnings, CWD: textOf(fields, "cwd"), Place: place(fields), Mode: textOf(fields, "permission_mode"),
		input: input, response: rawOf(fields, "tool_response"),
	}, true, nil
}

// hookOutput is the output of a hook.
type hookOutput struct {
	Specific struct {
		Event    string          `json:"hookEventName"`
		Decision string          `json:"permissionDecision,omitempty"`
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Updated  json.RawMessage `json:"updatedInput,omitempty"`
		Dialog   *verdict        `json:"decision,omitempty"`
	} `json:"hookSpecificOutput"`
}

// Decide returns the output for an outcome. It is nil if the hook must print nothing and leave the
// decision to the host: nobody answered, or the event does not ask.
func (e Event) Decide(o *ask.Outcome) []byte {
	switch {
	case e.permission != nil:
		return e.host.decision(e.permit(o))
	case e.form:
		return e.fill(o)
	}
	updated := updatedInput(&e.Ask, e.input, e.worded(o))
	declined := o.Status == ask.StatusCancelled && o.CancelledBy == nil
	switch {
	case updated == nil && !declined:
		return nil
	case e.host.First: // it takes answers from its own dialog only; as the reason of a refusal the model reads them
		return e.host.decision(&verdict{Behavior: "deny", Message: dialect.Report(&e.Ask, o)})
	}
	var out hookOutput
	out.Specific.Event = e.Name
	switch e.Name {
	case PreToolUse:
		out.Specific.Decision, out.Specific.Reason, out.Specific.Updated = "allow", ending(&e.Ask, o), updated
		if declined {
			out.Specific.Decision = "deny"
		}
	case PermissionRequest:
		out.Specific.Dialog = &verdict{Behavior: "allow", Updated: updated}
		if declined {
			out.Specific.Dialog = &verdict{Behavior: "deny", Message: ending(&e.Ask, o)}
		}
	default:
		return nil
	}
	return encode(out)
}

// worded moves a free-text response to where a hook's answers have a place for it: the answer to
// each question, or a note on answers.
func (e Event) worded(o *ask.Outcome) *ask.Outcome {
	worded := *o
	worded.Answers, worded.Response = slices.Clone(o.Answers), ""
	if o.Status != ask.StatusAnswered || o.Response == "" {
		return &worded
	}
	if first := slices.IndexFunc(o.Answers, func(ans ask.Answer) bool { return !ans.Empty() }); first >= 0 {
		note := &worded.Answers[first].Notes
		*note = strings.TrimSpace(*note + "\n" + lang.Of(e.Ask.Language()).Say("And for the whole ask: %s", o.Response))
		return &worded
	}
	worded.Answers = nil
	for i := range e.Ask.Questions {
		worded.Answers = append(worded.Answers, ask.Answer{QuestionID: e.Ask.Questions[i].ID, Other: o.Response})
	}
	return &worded
}

// Defer lets the agent's process end. When it is resumed, the same hook fires with the same tool
// use, and finds its ask. Only PreToolUse can defer; for other events it returns nil.
func (e Event) Defer() []byte {
	if e.Name != PreToolUse {
		return nil
	}
	var out hookOutput
	out.Specific.Event, out.Specific.Decision = e.Name, "defer"
	out.Specific.Reason = lang.Of(e.Ask.Language()).Say("the question waits for an answer elsewhere; resume to pick it up")
	return encode(out)
}

// Native returns the answer that PostToolUse reports from the terminal. Output that does not match
// the questions becomes a free-text response, so that no answer is lost; ok is false if there is
// none.
func (e Event) Native() (reply ask.Reply, ok bool) {
	if e.Name != PostToolUse || len(e.response) == 0 || string(e.response) == "null" {
		return ask.Reply{}, false
	}
	given, err := dialect.Named("claude-code").Reply(&e.Ask, e.response)
	switch {
	case err != nil && objectWith(e.response, "answers", "response"):
		return ask.Reply{Response: string(e.response)}, true
	case err != nil || given.Decision != dialect.Replied:
		return ask.Reply{}, false
	}
	said := slices.ContainsFunc(given.Reply.Answers, func(ans ask.Answer) bool { return !ans.Empty() })
	return given.Reply, said || given.Reply.Response != ""
}
