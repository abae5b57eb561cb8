package ask

import (
	"strings"
	"time"
)

// Status is how an ask ended. The set is closed.
type Status string

// The ends of an ask.
const (
	StatusAnswered  Status = "answered"  // a person (or a policy) answered
	StatusCancelled Status = "cancelled" // a person declined it
	StatusWithdrawn Status = "withdrawn" // the agent took it back
	StatusExpired   Status = "expired"   // nobody answered in time
	StatusAborted   Status = "aborted"   // an operator or the system ended it
)

// Source is where an outcome's answers come from.
type Source string

// The sources of answers. [SourceDefault] is never a human's answer.
const (
	SourceHuman   Source = "human"
	SourcePolicy  Source = "policy"
	SourceDefault Source = "default"
)

// ReasonGaveUp is the reason of an ask that was withdrawn because its agent did
// not wait for it any more: see [Ask.WhileWaiting].
const ReasonGaveUp = "its agent no longer waits"

// GaveUp reports whether the ask was withdrawn for [ReasonGaveUp].
func (o *Outcome) GaveUp() bool { return o.Status == StatusWithdrawn && o.Reason == ReasonGaveUp }

// Answer is the reply to one question: the field of its kind, and a note.
type Answer struct {
	QuestionID string   `json:"question_id"`
	Selected   []string `json:"selected,omitempty"` // choice: option ids
	Other      string   `json:"other,omitempty"`    // choice: free text
	Text       string   `json:"text,omitempty"`
	Number     *float64 `json:"number,omitempty"`
	Boolean    *bool    `json:"boolean,omitempty"`
	Date       string   `json:"date,omitempty"`    // RFC 3339 full-date
	Notes      string   `json:"notes,omitempty"`   // what the person added
	Skipped    bool     `json:"skipped,omitempty"` // the person left an optional question out
}

// Empty reports whether the answer carries no value; a note is not a value.
func (a *Answer) Empty() bool {
	return len(a.Selected) == 0 && a.Other == "" && a.Text == "" && a.Number == nil && a.Boolean == nil && a.Date == ""
}

// By is who acted, as proven by a responder.
type By struct {
	Principal string   `json:"principal"`           // such as "slack:T01/U02" or "os:mei"
	Name      string   `json:"name,omitempty"`      // for people to read
	Groups    []string `json:"groups,omitempty"`    // what the audience's group entries match
	Responder string   `json:"responder,omitempty"` // the responder type it came through
	Proof     string   `json:"proof,omitempty"`     // how the responder knows, such as "slack-signature"
}

// Reply is what a person gives to a whole ask. AnswerID makes repeating it
// harmless: the same id again is the same reply.
type Reply struct {
	AnswerID string   `json:"answer_id"`
	Answers  []Answer `json:"answers,omitempty"`
	Response string   `json:"response,omitempty"` // one free reply to the whole ask instead of single answers
	By       By       `json:"by"`
}

// CancelledBy names the option that ended an ask as cancelled.
type CancelledBy struct {
	QuestionID string `json:"question_id"`
	OptionID   string `json:"option_id"`
}

// Option is the option of a that ended it, or nil.
func (c *CancelledBy) Option(a *Ask) *Option {
	if c == nil || a == nil {
		return nil
	}
	if q := a.Question(c.QuestionID); q != nil {
		return q.Option(c.OptionID)
	}
	return nil
}

// Outcome is the one and only end of an ask.
//
// Its JSON is that of the protocol: [encoding/json] writes and reads it.
type Outcome struct {
	AskID   string `json:"ask_id"`
	Tenant  string `json:"tenant"`
	Session string `json:"session"`

	Status      Status       `json:"status"`
	Source      Source       `json:"source,omitempty"` // set when there are answers
	AnswerID    string       `json:"answer_id,omitempty"`
	Answers     []Answer     `json:"answers"` // never null in JSON
	Response    string       `json:"response,omitempty"`
	Reason      string       `json:"reason,omitempty"`       // why it was declined, withdrawn or aborted
	CancelledBy *CancelledBy `json:"cancelled_by,omitempty"` // set when an option ended it
	By          *By          `json:"by,omitempty"`           // nil when nobody acted

	At     time.Time     `json:"at"`
	Waited time.Duration `json:"waited_ms"`     // whole milliseconds in JSON
	Ask    *Ask          `json:"ask,omitempty"` // the question as it was asked
}

// Answer returns the answer to the question with this id, or nil.
func (o *Outcome) Answer(questionID string) *Answer {
	for i := range o.Answers {
		if o.Answers[i].QuestionID == questionID {
			return &o.Answers[i]
		}
	}
	return nil
}

// State is where an ask is in its life.
type State string

// An ask is pending until it is resolved; there is nothing else.
const (
	StatePending  State = "pending"
	StateResolved State = "resolved"
)

// Receipt is a responder type's record that it put an ask in front of people.
type Receipt struct {
	Type   string       `json:"type,omitempty"`
	Life   string       `json:"life"` // of the ask that was shown: see [Record]
	State  ReceiptState `json:"state"`
	Key    string       `json:"key,omitempty"`    // the surface's idempotency key
	Places []Place      `json:"places,omitempty"` // where it was put, at most [MaxPlaces]
	At     time.Time    `json:"at,omitzero"`
}

// Place is where a surface put an ask.
type Place struct {
	Ref   string `json:"ref,omitempty"`   // for the surface itself, such as a channel and a message
	Where string `json:"where,omitempty"` // for people, such as a link or "#ops"
}

// Words are the places as people read them: "#ops, https://example.com/1".
func (r *Receipt) Words() string {
	var where []string
	for _, p := range r.Places {
		if p.Where != "" {
			where = append(where, p.Where)
		}
	}
	return strings.Join(where, ", ")
}

// ReceiptState is how far a surface got with presenting an ask.
type ReceiptState string

// The states of a receipt.
const (
	ReceiptPosting ReceiptState = "posting"
	ReceiptPosted  ReceiptState = "posted"
	ReceiptFailed  ReceiptState = "failed"
)

// Record is what the ledger holds of one ask, as lists and replies to get show
// it. Its JSON is that of an item of a list: it names tenant, session and
// deadline, too.
type Record struct {
	State   State     `json:"state"`
	AskedAt time.Time `json:"asked_at,omitzero"`
	// Life identifies this asking: the broker makes one when it stores an ask.
	// The same id with another life was asked again, after the first ended and
	// was forgotten. Receipts name it.
	Life     string    `json:"life,omitempty"`
	Seq      uint64    `json:"seq,omitempty"` // while pending: the position in its stream; of one life the higher one is newer
	Ask      Ask       `json:"ask"`
	Outcome  *Outcome  `json:"outcome,omitempty"` // its ask is left out in JSON: it stands beside
	Receipts []Receipt `json:"receipts,omitempty"`
}

// Deadline is when the ask ends by itself, and whether somebody declared that:
// the [MaxTimeout] that holds otherwise is nothing to show to people.
func (r *Record) Deadline() (at time.Time, declared bool) {
	at = r.Ask.Deadline
	const slack = time.Minute // between the clocks that dated the question
	return at, !at.IsZero() && (r.AskedAt.IsZero() || at.Sub(r.AskedAt) < MaxTimeout-slack)
}
