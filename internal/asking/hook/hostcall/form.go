package hostcall

import (
	"encoding/json"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// Elicitation is the hook event of an MCP server's form. The host shows its own dialog for it only after the hook has
// printed nothing.
const Elicitation = "Elicitation"

// ourServer is the name under which the installers write our MCP server. Its forms are of asks that are on every screen.
const ourServer = "askbus"

// readForm decodes an Elicitation. It is not ours (ok is false) if it has a URL instead of a form.
func readForm(fields []member) (e Event, ok bool, err error) {
	server := textOf(fields, "mcp_server_name")
	if mode := textOf(fields, "mode"); mode != "" && mode != "form" || server == ourServer {
		return Event{}, false, nil
	}
	form := []member{{"message", rawOf(fields, "message")}, {"requestedSchema", rawOf(fields, "requested_schema")}}
	for i := range form {
		if form[i].raw == nil {
			form[i].raw = json.RawMessage("null")
		}
	}
	a, warnings, err := dialect.Named("elicitation").Ask(join(form))
	if err != nil {
		return Event{}, false, err
	}
	a.Session = ask.Token(textOf(fields, "session_id"))
	return Event{Name: Elicitation, Ask: a, Warnings: warnings, CWD: textOf(fields, "cwd"), Place: place(fields), server: server, form: true}, true, nil
}

// Form reports whether the event is about a form of an MCP server.
func (e Event) Form() bool { return e.form }

// fill returns the output for the outcome of a form: what a person filled in, or declined. Everything else is nil, and left
// to the host.
func (e Event) fill(o *ask.Outcome) []byte {
	person := o.Status == ask.StatusAnswered && o.Source != ask.SourceDefault || o.Status == ask.StatusCancelled
	var got struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if !person || json.Unmarshal(dialect.Named("elicitation").Answer(&e.Ask, o).Body, &got) != nil {
		return nil
	}
	if got.Action != "accept" && o.Status != ask.StatusCancelled { // words that fit no field
		return nil
	}
	type specific struct {
		Event   string          `json:"hookEventName"`
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}
	return encode(struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{e.Name, got.Action, got.Content}})
}
