package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Dialect is one foreign shape: the directions that it has, nil where it has
// none.
type Dialect struct {
	Name  string // such as "d5"
	About string // in a few words

	// Ask reads a foreign request. The ask that it returns is normalized and
	// valid, but for its id and session, which many shapes do not have.
	Ask func(body []byte) (ask.Ask, []Warning, error)
	// Answer writes the outcome of an ask for the agent that asked.
	Answer func(a *ask.Ask, o *ask.Outcome) Response
	// Pending writes that nobody has answered yet.
	Pending func(a *ask.Ask, p Pending) Response
	// Show writes any ask as a request to a foreign screen.
	Show func(a *ask.Ask) ([]byte, []Warning)
	// Reply reads what the person at that screen answered to a.
	Reply func(a *ask.Ask, body []byte) (Given, error)
}

// Warning is a thing in a request that was accepted but not as it stands.
type Warning struct {
	Pointer string `json:"pointer"` // RFC 6901 JSON pointer into the foreign body
	Message string `json:"message"`
}

// String is the warning as one line.
func (w Warning) String() string { return w.Pointer + ": " + w.Message }

// Response is what an HTTP door sends to a foreign agent. Doors without HTTP
// send the body.
type Response struct {
	Status int
	Header map[string]string // Content-Type, and what the dialect asks for
	Body   []byte
}

// Pending says where an ask stands that nobody has answered yet.
type Pending struct {
	Location string // where to pick the answer up
	Hint     string // what to do; default: a sentence that names the ask id
}

// Given is what came back from a foreign screen.
type Given struct {
	Decision Decision
	Reply    ask.Reply // with [Replied]; who answered is for the caller to fill in
	Reason   string    // with [Declined]
}

// Decision is what a person at a foreign screen did.
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
		{"d1", "event pair ask:question:request and ask:question:response", D1Ask, D1Answer, D1Pending, D1Show, D1Reply},
		{"d2", "typed superset of d1", D2Ask, D2Answer, D2Pending, D2Show, D2Reply},
		{"d3", "the coding agents' tool AskUserQuestion", D3Ask, D3Answer, D3Pending, D3Show, D3Reply},
		{"d4", "one question over HTTP and WebSocket", D4Ask, D4Answer, D4Pending, D4Show, D4Reply},
		{"d5", "id-based protocol", D5Ask, D5Answer, D5Pending, D5Show, D5Reply},
		{"codex", "Codex request_user_input", CodexAsk, CodexAnswer, CodexPending, CodexShow, CodexReply},
		{"vscode", "VS Code askQuestions", VSCodeAsk, VSCodeAnswer, VSCodePending, VSCodeShow, VSCodeReply},
		{"opencode", "opencode question", OpencodeAsk, OpencodeAnswer, OpencodePending, OpencodeShow, OpencodeReply},
		{"gemini", "Gemini CLI ask_user", GeminiAsk, GeminiAnswer, GeminiPending, GeminiShow, GeminiReply},
		{"langgraph", "LangGraph agent inbox", LangGraphAsk, LangGraphAnswer, LangGraphPending, LangGraphShow, LangGraphReply},
		{"elicitation", "MCP elicitation, form mode", ElicitationAsk, ElicitationAnswer, ElicitationPending, ElicitationShow, ElicitationReply},
	}
}

// Lookup finds a dialect by name; letter case does not matter.
func Lookup(name string) (Dialect, bool) {
	all := All()
	i := slices.IndexFunc(all, func(d Dialect) bool { return strings.EqualFold(d.Name, name) })
	if i < 0 {
		return Dialect{}, false
	}
	return all[i], true
}

// Names lists the dialects.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}

// ClipTimes brings a timeout or a deadline into the bounds of the protocol, as
// dialects do instead of refusing it, and says so.
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

// respond makes a response with a JSON body.
func respond(status int, body any) Response {
	return Response{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: encode(body)}
}

// encode writes JSON without escaping what is only special in HTML. Every
// value in this package can be encoded.
func encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
