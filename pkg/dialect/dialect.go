package dialect

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Dialect is one foreign shape. A direction that it does not have is nil.
type Dialect struct {
	Name    string   // its origin, such as "claude-code"
	Aliases []string // other names under which [Lookup] finds it
	About   string   // in a few words

	// Ask reads a foreign request. The ask that it returns is normalized and
	// valid, except for its id and session, which many shapes do not have.
	Ask func(body []byte) (ask.Ask, []Warning, error)
	// Answer writes the outcome of an ask for the agent that asked.
	Answer func(a *ask.Ask, o *ask.Outcome) Response
	// Pending writes that nobody has answered yet.
	Pending func(a *ask.Ask, p Pending) Response
	// Show writes any ask as a request to a foreign screen.
	Show func(a *ask.Ask) ([]byte, []Warning)
	// Reply reads the answer of the person at that screen.
	Reply func(a *ask.Ask, body []byte) (Given, error)

	askFiles func(body []byte, upload func(Upload)) (ask.Ask, []Warning, error) // nil: requests hold no files
}

// Warning describes a part of a request that was accepted but changed.
type Warning struct {
	Pointer string `json:"pointer"` // RFC 6901 JSON pointer into the foreign body
	Message string `json:"message"`
}

// String formats the warning as one line.
func (w Warning) String() string { return w.Pointer + ": " + w.Message }

// Response is the HTTP response to a foreign agent. Other transports send only
// the body.
type Response struct {
	Status int
	Header map[string]string // Content-Type, and what the dialect asks for
	Body   []byte
}

// Pending says where to find an ask that nobody has answered yet.
type Pending struct {
	Location string // where to fetch the answer
	Hint     string // what to do; default: a sentence that names the ask id
	Progress string // how far the votes and the ladder have come, in a sentence; empty: it has none
}

// Given is what a foreign screen returned.
type Given struct {
	Decision Decision
	Reply    ask.Reply // with [Replied]; the caller sets who answered
	Reason   string    // with [Declined]
	Files    []Upload  // of answers, which refer to them
}

// Decision says what a person at a foreign screen did.
type Decision string

// The decisions. A dismissed question stays open: closing a window decides
// nothing.
const (
	Replied   Decision = "replied"
	Declined  Decision = "declined"
	Dismissed Decision = "dismissed"
)

// All returns every dialect, in the order of the documentation.
func All() []Dialect {
	all := []Dialect{
		{"event-pair", []string{"d1"}, "event pair ask:question:request and ask:question:response", eventPairAsk, eventPairAnswer, eventPairPending, eventPairShow, eventPairReply, nil},
		{"typed", []string{"d2"}, "event pair with typed questions", typedAsk, typedAnswer, eventPairPending, typedShow, typedReply, nil},
		{"claude-code", []string{"d3"}, "Claude Code's tool AskUserQuestion", claudeCodeAsk, claudeCodeAnswer, waitingResponse, claudeCodeShow, claudeCodeReply, nil},
		{"interact", []string{"d4"}, "one question over HTTP and WebSocket", interactAsk, interactAnswer, interactPending, interactShow, interactReply, nil},
		{"by-id", []string{"d5"}, "questions and options by id", byIDAsk, byIDAnswer, byIDPending, byIDShow, byIDReply, nil},
		{"codex", nil, "Codex request_user_input", codexAsk, codexAnswer, waitingResponse, codexShow, codexReply, nil},
		{"vscode", nil, "VS Code askQuestions", vscodeAsk, vscodeAnswer, waitingResponse, vscodeShow, vscodeReply, nil},
		{"opencode", nil, "opencode question", opencodeAsk, opencodeAnswer, waitingResponse, opencodeShow, opencodeReply, nil},
		{"gemini", nil, "Gemini CLI ask_user", geminiAsk, geminiAnswer, geminiPending, geminiShow, geminiReply, nil},
		{"gemini-tool", nil, "Gemini CLI ask_user, in place of the tool: answers as JSON", geminiAsk, geminiToolAnswer, waitingResponse, geminiShow, geminiReply, nil},
		{"langgraph", nil, "LangGraph agent inbox", langgraphAsk, langgraphAnswer, waitingResponse, langgraphShow, langgraphReply, nil},
		{"elicitation", nil, "MCP and ACP elicitation, form mode", elicitationAsk, elicitationAnswer, waitingResponse, elicitationShow, elicitationReply, nil},
		{langchainName, nil, "LangChain's human-in-the-loop middleware", langchainAsk, langchainAnswer, waitingResponse, langchainShow, langchainReply, nil},
		{aiSDKName, nil, "AI SDK tool approval parts", namesFiles(aiSDKAsk), aiSDKAnswer, waitingResponse, aiSDKShow, aiSDKReply, aiSDKAsk},
		{agUIName, nil, "AG-UI interrupts and resume", agUIAsk, agUIAnswer, waitingResponse, agUIShow, agUIReply, nil},
		{copilotName, nil, "Copilot SDK ask_user, both variants", copilotAsk, copilotAnswer, waitingResponse, copilotShow, copilotReply, nil},
		{cursorName, nil, "Cursor's AskQuestion", cursorAsk, cursorAnswer, cursorPending, cursorShow, cursorReply, nil},
		{eveName, nil, "eve's tool ask_question and its input requests", eveAsk, eveAnswer, waitingResponse, eveShow, eveReply, nil},
		{a2aName, nil, "A2A: a task whose input is required", namesFiles(a2aAsk), a2aAnswer, a2aPending, a2aShow, a2aReply, a2aAsk},
		{permissionName, []string{"acp"}, "ACP session/request_permission, versions 1 and 2", namesFiles(permissionAsk), permissionAnswer, waitingResponse, permissionShow, permissionReply, permissionAsk},
	}
	for i, d := range all {
		if d.Name != a2aName { // which has a place for files
			all[i] = inWords(d)
		}
		if d.Reply != nil {
			all[i].Reply = func(a *ask.Ask, body []byte) (Given, error) {
				given, err := d.Reply(a, body)
				return given, inLanguage(a, err)
			}
		}
	}
	return all
}

// namesFiles reads requests for a caller that uploads no files.
func namesFiles(read func([]byte, func(Upload)) (ask.Ask, []Warning, error)) func([]byte) (ask.Ask, []Warning, error) {
	return func(body []byte) (ask.Ask, []Warning, error) { return read(body, nil) }
}

// inLanguage returns a refusal in the language of the ask.
func inLanguage(a *ask.Ask, err error) error {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e.In(a.Language())
	}
	return err
}

// Lookup finds a dialect by its name or an alias, ignoring letter case.
func Lookup(name string) (Dialect, bool) {
	same := func(other string) bool { return strings.EqualFold(other, name) }
	for _, d := range All() {
		if same(d.Name) || slices.ContainsFunc(d.Aliases, same) {
			return d, true
		}
	}
	return Dialect{}, false
}

// Names returns the names of the dialects, without aliases.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}

// ClipTimes brings a timeout or a deadline into the bounds of the protocol,
// with a warning, since dialects do not refuse one that is out of bounds.
func ClipTimes(a *ask.Ask, now time.Time) []Warning {
	var warnings []Warning
	if t := a.Timeout; t != 0 && (t < ask.MinTimeout || t > ask.MaxTimeout) {
		a.Timeout = min(max(t, ask.MinTimeout), ask.MaxTimeout)
		warnings = append(warnings, Warning{"/timeout", "is " + t.String() + "; " + a.Timeout.String() + " is used"})
	}
	first, last := now.Add(ask.MinTimeout), now.Add(ask.MaxTimeout)
	switch d := a.Deadline; {
	case d.IsZero():
	case d.Before(first):
		a.Deadline = first
		warnings = append(warnings, Warning{"/deadline", "is " + d.UTC().Format(time.RFC3339) + ", which has passed; the ask ends in " + ask.MinTimeout.String()})
	case d.After(last):
		a.Deadline = last
		warnings = append(warnings, Warning{"/deadline", "is " + d.UTC().Format(time.RFC3339) + ", more than 30 days ahead; the ask ends in 30 days"})
	}
	return warnings
}

// respond returns a response with a JSON body.
func respond(status int, body any) Response {
	return Response{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: encode(body)}
}

// encode writes JSON without HTML escapes. Every value in this package can be
// encoded.
func encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
