package dialect

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Dialect is one foreign shape.
type Dialect struct {
	Name    string   // its origin, such as "claude-code"
	Aliases []string // other names under which [Lookup] finds it
	About   string   // in a few words

	// Pending writes that nobody has answered yet.
	Pending func(a *ask.Ask, p Pending) Response

	ask    func(body []byte, upload func(Upload)) (ask.Ask, []Warning, error)
	answer func(a *ask.Ask, o *ask.Outcome) Response
	show   func(a *ask.Ask) ([]byte, []Warning)
	reply  func(a *ask.Ask, body []byte) (Given, *reader)
	files  bool // requests can hold files
}

// Ask reads a foreign request. The ask that it returns is normalized and
// valid, except for its id and session, which many shapes do not have. It only
// names the files that the request holds.
func (d Dialect) Ask(body []byte) (ask.Ask, []Warning, error) { return d.ask(body, nil) }

// Answer writes the outcome of an ask for the agent that asked.
func (d Dialect) Answer(a *ask.Ask, o *ask.Outcome) Response {
	if !d.carriesFiles() {
		o = answerInWords(a, o)
	}
	return d.answer(a, o)
}

// AnswerTo is Answer for a client that names the ask by this id, which comes back
// where the shape has an id of the ask.
func (d Dialect) AnswerTo(a *ask.Ask, o *ask.Outcome, id string) Response {
	return d.Answer(remembering(a, hostIDKey, id), o)
}

// Show writes any ask as a request to a foreign screen.
func (d Dialect) Show(a *ask.Ask) ([]byte, []Warning) {
	worded := a
	if !d.carriesFiles() {
		worded = askInWords(a)
	}
	body, warnings := d.show(worded)
	if worded != a {
		warnings = append(warnings, Warning{"/files", "are named with their links; this screen has no place for files"})
	}
	return body, warnings
}

// Reply reads the answer of the person at that screen. It refuses in the
// language of the ask.
func (d Dialect) Reply(a *ask.Ask, body []byte) (Given, error) {
	given, r := d.reply(a, body)
	return given, inLanguage(a, r.err())
}

// replies returns how the answers of a screen are read, which errors call what.
func replies(what string, read func(a *ask.Ask, v value) Given) func(a *ask.Ask, body []byte) (Given, *reader) {
	return func(a *ask.Ask, body []byte) (Given, *reader) {
		r := &reader{what: what}
		v, err := r.parse(body)
		if err != nil {
			return Given{}, r
		}
		return read(a, v), r
	}
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
	return []Dialect{
		{"event-pair", []string{"d1"}, "event pair ask:question:request and ask:question:response", eventPairPending, asks("event-pair", eventPairAsk), eventPairAnswer, eventPairShow, replies("event-pair response", eventPairReply), false},
		{"typed", []string{"d2"}, "event pair with typed questions", eventPairPending, asks("typed", typedAsk), typedAnswer, typedShow, replies("typed response", typedReply), false},
		{"claude-code", []string{"d3"}, "Claude Code's tool AskUserQuestion", waitingResponse, asks("claude-code", claudeCodeAsk), claudeCodeAnswer, claudeCodeShow, replies("claude-code answer", claudeCodeReply), false},
		{"interact", []string{"d4"}, "one question over HTTP and WebSocket", interactPending, asks("interact", interactAsk), interactAnswer, interactShow, replies("interact response", interactReply), false},
		{"by-id", []string{"d5"}, "questions and options by id", byIDPending, asks("by-id", byIDAsk), byIDAnswer, byIDShow, replies("by-id answer", byIDReply), false},
		{"codex", nil, "Codex request_user_input", waitingResponse, asks("codex", codexAsk), codexAnswer, codexShow, replies("codex answer", codexReply), false},
		{"vscode", nil, "VS Code askQuestions", waitingResponse, asks("vscode", vscodeAsk), vscodeAnswer, vscodeShow, replies("vscode answer", vscodeReply), false},
		{"opencode", nil, "opencode question", waitingResponse, asks("opencode", opencodeAsk), opencodeAnswer, opencodeShow, replies("opencode answer", opencodeReply), false},
		{"gemini", nil, "Gemini CLI ask_user", geminiPending, asks("gemini", geminiAsk), geminiAnswer, geminiShow, geminiReply, false},
		{"gemini-tool", nil, "Gemini CLI ask_user, in place of the tool: answers as JSON", waitingResponse, asks("gemini", geminiAsk), geminiToolAnswer, geminiShow, geminiReply, false},
		{"langgraph", nil, "LangGraph agent inbox", waitingResponse, asks("langgraph", langgraphAsk), langgraphAnswer, langgraphShow, replies("langgraph response", langgraphReply), false},
		{"elicitation", nil, "MCP and ACP elicitation, form mode", waitingResponse, asks("elicitation", elicitationAsk), elicitationAnswer, elicitationShow, replies("elicitation result", elicitationReply), false},
		{langchainName, nil, "LangChain's human-in-the-loop middleware", waitingResponse, asks(langchainName, langchainAsk), langchainAnswer, langchainShow, replies("langchain response", langchainReply), false},
		{aiSDKName, nil, "AI SDK tool approval parts", waitingResponse, asks(aiSDKName, aiSDKAsk), aiSDKAnswer, aiSDKShow, replies("ai-sdk response", aiSDKReply), true},
		{agUIName, nil, "AG-UI interrupts and resume", waitingResponse, asks(agUIName, agUIAsk), agUIAnswer, agUIShow, replies("ag-ui resume", agUIReply), false},
		{copilotName, nil, "Copilot SDK ask_user, both variants", waitingResponse, asks(copilotName, copilotAsk), copilotAnswer, copilotShow, replies("copilot answer", copilotReply), false},
		{cursorName, nil, "Cursor's AskQuestion", cursorPending, asks(cursorName, cursorAsk), cursorAnswer, cursorShow, replies("cursor result", cursorReply), false},
		{eveName, nil, "eve's tool ask_question and its input requests", waitingResponse, asks(eveName, eveAsk), eveAnswer, eveShow, replies("eve answer", eveReply), false},
		{a2aName, nil, "A2A: a task whose input is required", a2aPending, asks(a2aName, a2aAsk), a2aAnswer, a2aShow, replies("a2a message", a2aReply), true},
		{permissionName, []string{"acp"}, "ACP session/request_permission, versions 1 and 2", waitingResponse, asks(permissionName, permissionAsk), permissionAnswer, permissionShow, replies("acp-permission result", permissionReply), true},
	}
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

// Named returns the dialect of a name that exists.
func Named(name string) Dialect {
	d, known := Lookup(name)
	if !known {
		panic("no dialect is named " + name)
	}
	return d
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
