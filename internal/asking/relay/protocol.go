package relay

import (
	"encoding/json"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// Protocol is what one protocol says of its messages. Each side's lines are read one at a time, both sides' at once.
type Protocol interface {
	// FromEditor reads a line of the editor that answers no question.
	FromEditor(line []byte, m *Message) Effect
	// FromAgent reads a line of the agent.
	FromAgent(line []byte, m *Message) Effect
	// Name is the agent's name, as far as its messages said it.
	Name() string
	// Result returns the response to a question.
	Result(id json.RawMessage, body []byte) []byte
	// Refusal returns the response to a question that cannot be asked.
	Refusal(id json.RawMessage, why error, broken bool) []byte
	// Close returns the line that closes a question's dialog in the editor; nil: the agent sends it.
	Close(id json.RawMessage) []byte
	// Refused reports whether the error of an editor's response is a person's cancellation; otherwise the editor could
	// not show the question.
	Refused(e *jsonrpc.Error) bool
}

// Effect is what a line means. The zero value forwards it, and nothing else.
type Effect struct {
	Instead   []byte          // forwarded instead of the line
	Asks      *Question       // the agent asks this
	TakenBack json.RawMessage // the id of a question that the agent took back, or that somebody else answered
	Stops     string          // the editor's session whose turn ended with this line
}

// Question is a request of the agent that people answer.
type Question struct {
	ID      json.RawMessage
	Session string           // the editor's
	Ask     ask.Ask          // tenant, session and agent are optional
	Files   []dialect.Upload // of the ask
	Unfit   error            // why the bus cannot ask it
	Shown   bool             // the editor shows it, too
	// Answer returns the result for an outcome; nil: it decides nothing, and only the editor asks from then on.
	Answer func(o *ask.Outcome) []byte
	// Reply reads the result of the editor's dialog. An error: the bus cannot record it.
	Reply func(result json.RawMessage) (dialect.Given, error)
	// Withdrawn returns the response after a cancellation by the agent or by the editor's turn; nil: there is none.
	Withdrawn func(byAgent bool) []byte

	// Guarded by the proxy's mutex.
	replied bool // the editor has answered it
	told    bool // the editor was sent a cancellation

	reply     chan reply     // at most one
	cancelled chan canceller // at most one
}
