package ask

import "time"

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

// Answer is the reply to one question: the field of its kind, and a note.
type Answer struct {
	QuestionID string
	Selected   []string // choice: option ids
	Other      string   // choice: free text
	Text       string
	Number     *float64
	Boolean    *bool
	Date       string // RFC 3339 full-date
	Notes      string // what the person added
	Skipped    bool   // the person left an optional question out
}

// Empty reports whether the answer carries no value; a note is no value.
func (a *Answer) Empty() bool {
	return len(a.Selected) == 0 && a.Other == "" && a.Text == "" && a.Number == nil && a.Boolean == nil && a.Date == ""
}

// By is who acted, as proven by a responder.
type By struct {
	Principal string   // such as "slack:T01/U02" or "os:mei"
	Name      string   // for people to read
	Groups    []string // what the audience's group entries match
	Responder string   // the responder type it came through
	Proof     string   // how the responder knows, such as "slack-signature"
}

// Reply is what a person gives to a whole ask. AnswerID makes repeating it
// harmless: the same id again is the same reply.
type Reply struct {
	AnswerID string
	Answers  []Answer
	Response string // one free reply to the whole ask instead of single answers
	By       By
}

// CancelledBy names the option that ended an ask as cancelled.
type CancelledBy struct {
	QuestionID string
	OptionID   string
}

// Outcome is the one and only end of an ask.
type Outcome struct {
	AskID   string
	Tenant  string
	Session string

	Status      Status
	Source      Source // set when there are answers
	AnswerID    string
	Answers     []Answer
	Response    string
	Reason      string       // why it was declined, withdrawn or aborted
	CancelledBy *CancelledBy // set when an option ended it
	By          *By          // nil when nobody acted

	At     time.Time
	Waited time.Duration
	Ask    *Ask // the question as it was asked
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
	Type  string
	State ReceiptState
	Seq   uint64 // the question's stream sequence: another one is another life of the id
	Key   string // the surface's idempotency key
	Where string // a place people can find, such as a link
	At    time.Time
}

// ReceiptState is how far a surface got with presenting an ask.
type ReceiptState string

// The states of a receipt.
const (
	ReceiptPosting ReceiptState = "posting"
	ReceiptPosted  ReceiptState = "posted"
	ReceiptFailed  ReceiptState = "failed"
)

// Record is what the ledger holds of one ask, as lists and [Status] replies
// show it.
type Record struct {
	State    State
	Ask      Ask
	AskedAt  time.Time
	Seq      uint64 // the question's stream sequence
	Outcome  *Outcome
	Receipts []Receipt
}
