package dialect

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The hook events that concern a question.
const (
	HookPreToolUse        = "PreToolUse"        // the tool is about to ask
	HookPermissionRequest = "PermissionRequest" // the terminal's dialog is open
	HookPostToolUse       = "PostToolUse"       // it was answered in the terminal
)

// HookCall is what a coding agent's CLI tells its hook.
type HookCall struct {
	Event    string
	Ask      ask.Ask // its id is the tool use's, its session the agent's, as tokens
	Warnings []Warning
	CWD      string
	Mode     string // the permission mode
	input    *object
	response value // PostToolUse: the tool's output
}

// D3Hook reads the JSON on a hook's standard input. A call that is about
// another tool or event is no error: then ok is false and the hook prints
// nothing.
func D3Hook(body []byte) (call HookCall, ok bool, err error) {
	b := newBuilder("d3")
	v, err := b.parse(body)
	if err != nil {
		return HookCall{}, false, err
	}
	v.body()
	call.Event = v.field("hook_event_name").need()
	name := v.field("tool_name").string()
	if err := b.err(); err != nil {
		return HookCall{}, false, err
	}
	switch call.Event {
	case HookPreToolUse, HookPermissionRequest, HookPostToolUse:
	default:
		return HookCall{}, false, nil
	}
	if name != D3ToolName {
		return HookCall{}, false, nil
	}
	b.session(v.field("session_id").string())
	b.askID(v.field("tool_use_id").string())
	call.CWD, call.Mode = v.field("cwd").string(), v.field("permission_mode").string()
	input := v.field("tool_input")
	if !input.given() {
		input.fault("is missing; give the tool's input")
	}
	b.d3Input(input)
	call.input, call.response = input.object(), v.field("tool_response")
	if call.Ask, call.Warnings, err = b.finish(); err != nil {
		return HookCall{}, false, err
	}
	return call, true, nil
}

// Decide is what the hook prints for an outcome. It is nil when the hook must
// print nothing and leave the decision to the host: nobody answered, or the
// event is not one that asks.
func (c HookCall) Decide(o *ask.Outcome) []byte {
	a := &c.Ask
	updated, declined := updatedInput(a, c.input, c.worded(o)), rowOf(o) == rowDeclined
	switch {
	case updated == nil && !declined:
		return nil
	case c.Event == HookPreToolUse && declined:
		return hookOutput(c.Event, "permissionDecision", "deny", "permissionDecisionReason", sentence(a, o))
	case c.Event == HookPreToolUse:
		return hookOutput(c.Event, "permissionDecision", "allow", "permissionDecisionReason", sentence(a, o), "updatedInput", updated)
	case c.Event == HookPermissionRequest && declined:
		return hookOutput(c.Event, "decision", ordered("behavior", "deny", "message", sentence(a, o)))
	case c.Event == HookPermissionRequest:
		return hookOutput(c.Event, "decision", ordered("behavior", "allow", "updatedInput", updated))
	}
	return nil
}

// worded puts a free response where a hook's answers have a place for it: as
// the answer to each question, or as a note beside answers.
func (c HookCall) worded(o *ask.Outcome) *ask.Outcome {
	worded := *o
	worded.Answers, worded.Response = slices.Clone(o.Answers), ""
	switch first := slices.IndexFunc(o.Answers, func(ans ask.Answer) bool { return !ans.Empty() }); {
	case rowOf(o) == rowResponse:
		worded.Answers = nil
		for i := range c.Ask.Questions {
			worded.Answers = append(worded.Answers, ask.Answer{QuestionID: c.Ask.Questions[i].ID, Other: o.Response})
		}
	case first >= 0 && o.Response != "":
		note := &worded.Answers[first].Notes
		*note = strings.TrimSpace(*note + "\nAnd to all of it: " + o.Response)
	}
	return &worded
}

// Defer lets the agent's process end. When it is resumed, the same hook fires
// again with the same tool use, and finds its ask. Only PreToolUse can defer;
// for other events it is nil.
func (c HookCall) Defer() []byte {
	if c.Event != HookPreToolUse {
		return nil
	}
	return hookOutput(c.Event, "permissionDecision", "defer",
		"permissionDecisionReason", "the question waits for an answer elsewhere; resume to pick it up")
}

func hookOutput(event string, pairs ...any) []byte {
	return encode(ordered("hookSpecificOutput", ordered(append([]any{"hookEventName", event}, pairs...)...)))
}

// Native is the answer that PostToolUse reports from the terminal. An output
// that cannot be read by question is given as one free response, so that no
// answer is lost; ok is false when there is none.
func (c HookCall) Native() (reply ask.Reply, ok bool) {
	if c.Event != HookPostToolUse || !c.response.given() {
		return ask.Reply{}, false
	}
	return nativeReply(&c.Ask, c.response.raw)
}

// nativeReply reads a tool's output: an object of D3, its JSON as text, the
// sentence that hosts make of it, or content blocks with one of these.
func nativeReply(a *ask.Ask, raw any) (ask.Reply, bool) {
	switch raw := raw.(type) {
	case *object:
		if raw.values["answers"] == nil && raw.values["response"] == nil {
			return nativeReply(a, raw.values["content"])
		}
		r := &reader{what: "d3 answer"}
		given := value{r: r, raw: raw}.d3Given(a)
		if r.err() != nil {
			return ask.Reply{Response: string(encode(raw))}, true
		}
		return given.Reply, given.Reply.Response != "" || len(valued(given.Reply.Answers)) > 0
	case []any:
		var texts []string
		for _, block := range raw {
			if o, ok := block.(*object); ok {
				text, _ := o.values["text"].(string)
				texts = append(texts, text)
			}
		}
		return nativeReply(a, strings.Join(texts, "\n"))
	case string:
		if v, err := (&reader{}).parse([]byte(raw)); err == nil && typeName(v.raw) == "an object" {
			if reply, ok := nativeReply(a, v.raw); ok {
				return reply, true
			}
		}
		return spoken(a, raw)
	}
	return ask.Reply{}, false
}

// spoken reads the sentence in which hosts tell a model the answers:
// "<question>"="<answer>", and so on.
func spoken(a *ask.Ask, text string) (ask.Reply, bool) {
	if strings.TrimSpace(text) == "" || undecided(text) {
		return ask.Reply{}, false
	}
	var reply ask.Reply
	keys := d3Keys(a)
	for i := range a.Questions {
		_, rest, ok := strings.Cut(text, `"`+keys[i]+`"="`)
		if !ok {
			continue
		}
		end := len(rest)
		for j := range a.Questions {
			for _, next := range []string{`", "`, "\"\n- \""} {
				if at := strings.Index(rest, next+keys[j]+`"="`); j != i && at >= 0 {
					end = min(end, at)
				}
			}
		}
		for _, stop := range []string{`". You can now`, `" selected preview:`, `" user notes:`, "\"\n  user notes: ", "\"\n  each in quotes: ", "\"\n- not answered: "} {
			if at := strings.Index(rest, stop); at >= 0 {
				end = min(end, at)
			}
		}
		reply.Answers = append(reply.Answers, choose(&a.Questions[i], strings.TrimSuffix(strings.TrimRight(rest[:end], " ."), `"`), d3Separator))
	}
	if len(reply.Answers) == 0 {
		return ask.Reply{Response: text}, true
	}
	return reply, true
}

// undecided reports whether a result is one of ours that says that there is no
// answer from a human.
func undecided(text string) bool {
	for _, start := range []string{"declined: ", "withdrawn before ", "aborted before ", "nobody answered by ", "pending: "} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}
