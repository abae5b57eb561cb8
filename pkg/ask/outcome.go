package ask

import (
	"encoding/json"
	"strings"
	"time"
)

// Status says how an ask ended. The set is closed.
type Status string

// The ends of an ask.
const (
	StatusAnswered  Status = "answered"  // a person (or a policy) answered
	StatusCancelled Status = "cancelled" // a person declined it
	StatusWithdrawn Status = "withdrawn" // the agent took it back
	StatusExpired   Status = "expired"   // nobody answered in time
	StatusAborted   Status = "aborted"   // an operator or the system ended it
)

// Source says where an outcome's answers come from.
type Source string

// The sources of answers. [SourceDefault] is never a person's answer.
const (
	SourceHuman   Source = "human"
	SourcePolicy  Source = "policy"
	SourceDefault Source = "default"
)

// ReasonGaveUp is the reason of an ask that was withdrawn because its agent no
// longer waited for it: see [Ask.WhileWaiting].
const ReasonGaveUp = "its agent no longer waits"

// GaveUp reports whether the ask was withdrawn for [ReasonGaveUp].
func (o *Outcome) GaveUp() bool { return o.Status == StatusWithdrawn && o.Reason == ReasonGaveUp }

// Answer is the reply to one question: a value in the field of its kind, and a
// note.
type Answer struct {
	QuestionID string   `json:"question_id"`
	Selected   []string `json:"selected,omitempty"` // choice: option ids
	Other      string   `json:"other,omitempty"`    // choice: free text
	Text       string   `json:"text,omitempty"`
	Number     *float64 `json:"number,omitempty"`
	Boolean    *bool    `json:"boolean,omitempty"`
	Date       string   `json:"date,omitempty"`    // RFC 3339 full-date
	Notes      string   `json:"notes,omitempty"`   // what the person added
	Files      []File   `json:"files,omitempty"`   // what the person added, such as a pasted screenshot; like a note, not a value
	Skipped    bool     `json:"skipped,omitempty"` // the person left an optional question out
}

// Empty reports whether the answer carries no value; a note is not a value.
func (a *Answer) Empty() bool {
	return len(a.Selected) == 0 && a.Other == "" && a.Text == "" && a.Number == nil && a.Boolean == nil && a.Date == ""
}

// By says who acted, as authenticated by a responder.
type By struct {
	Principal string   `json:"principal"`           // such as "slack:T01/U02" or "os:mei"
	Name      string   `json:"name,omitempty"`      // for people to read
	Groups    []string `json:"groups,omitempty"`    // matched against the audience's group entries
	Responder string   `json:"responder,omitempty"` // the responder type that was used
	Proof     string   `json:"proof,omitempty"`     // how the responder authenticated the person, such as "slack-signature"
	// OnCall are the schedules by which the person was on call when they decided or
	// voted, of those that the ask names. Only the broker sets them.
	OnCall []OnCall `json:"on_call,omitempty" wire:"broker"`
	// For is who is away, if this person decided as the stand-in: the right is then that of For alone. Only
	// the broker sets it.
	For *By `json:"for,omitempty" wire:"broker"`
}

// Reply is a person's reply to a whole ask. AnswerID makes it idempotent: a
// second reply with the same id is the same reply.
type Reply struct {
	AnswerID string   `json:"answer_id"`
	Answers  []Answer `json:"answers,omitempty"`
	Response string   `json:"response,omitempty"` // one free-text reply to the whole ask instead of single answers
	By       By       `json:"by"`
	// BreakGlass, if set, decides an ask with an approval alone, with a role of the operator.
	BreakGlass *BreakGlass `json:"break_glass,omitempty"`
}

// CancelledBy names the option that ended an ask as cancelled.
type CancelledBy struct {
	QuestionID string `json:"question_id"`
	OptionID   string `json:"option_id"`
}

// Option returns the option of a that ended it, or nil.
func (c *CancelledBy) Option(a *Ask) *Option {
	if c == nil || a == nil {
		return nil
	}
	if q := a.Question(c.QuestionID); q != nil {
		return q.Option(c.OptionID)
	}
	return nil
}

// Outcome is the one and only end of an ask. It marshals to and from the JSON
// of the protocol.
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

	Votes []Vote `json:"votes,omitempty"` // of an ask with an approval: all of them, in the order in which they were given

	// BreakGlass is set if one person decided alone an ask that needed votes.
	BreakGlass *BreakGlass `json:"break_glass,omitempty"`

	// Escalated is how far an ask with a ladder was escalated.
	Escalated *Escalated `json:"escalated,omitempty"`

	At     time.Time     `json:"at"`
	Waited time.Duration `json:"waited_ms"`     // whole milliseconds in JSON
	Ask    *Ask          `json:"ask,omitempty"` // the question as it was asked

	Raw json.RawMessage `json:"-"` // as it was read, if that has fields which this version does not know; nil otherwise
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

// State is the state of an ask.
type State string

// An ask is pending until it is resolved; there are no other states.
const (
	StatePending  State = "pending"
	StateResolved State = "resolved"
)

// Receipt records that a responder type presented an ask to people.
type Receipt struct {
	Type   string       `json:"type,omitempty"`
	Life   string       `json:"life"` // of the presented ask: see [Record]
	State  ReceiptState `json:"state"`
	Key    string       `json:"key,omitempty"`    // the surface's idempotency key
	Places []Place      `json:"places,omitempty"` // where it was presented, at most [MaxPlaces]
	Step   int          `json:"step,omitempty"`   // the last step of its ladder that it told of
	At     time.Time    `json:"at,omitzero"`
}

// Place is where a surface presented an ask.
type Place struct {
	Ref   string `json:"ref,omitempty"`   // for the surface itself, such as a channel and a message
	Where string `json:"where,omitempty"` // for people, such as a link or "#ops"
}

// Words lists the places for people to read: "#ops, https://example.com/1".
func (r *Receipt) Words() string {
	var where []string
	for _, p := range r.Places {
		if p.Where != "" {
			where = append(where, p.Where)
		}
	}
	return strings.Join(where, ", ")
}

// ReceiptState says how far a surface got with presenting an ask.
type ReceiptState string

// The states of a receipt.
const (
	ReceiptPosting ReceiptState = "posting"
	ReceiptPosted  ReceiptState = "posted"
	ReceiptFailed  ReceiptState = "failed"
)

// Record is what the ledger holds of one ask, as used in lists and replies to
// get. It marshals to the protocol's list item, which also names the tenant,
// session and deadline.
type Record struct {
	State   State     `json:"state"`
	AskedAt time.Time `json:"asked_at,omitzero"`
	// Life identifies this asking of the id: the broker generates it when it
	// stores an ask. The same id gets another life when it is asked again after
	// the first ask ended and was forgotten. Receipts name it.
	Life     string    `json:"life,omitempty"`
	Seq      uint64    `json:"seq,omitempty"` // while pending: the position in its stream; within one life the higher one is newer
	Ask      Ask       `json:"ask"`
	Outcome  *Outcome  `json:"outcome,omitempty"` // without its ask in JSON: the record has it
	Receipts []Receipt `json:"receipts,omitempty"`
	Votes    []Vote    `json:"votes,omitempty"` // so far, while pending
	// Escalated is how far a pending ask with a ladder has been escalated; nil:
	// no step was taken, and nobody has looked.
	Escalated *Escalated `json:"escalated,omitempty"`

	Raw json.RawMessage `json:"-"` // like [Outcome.Raw]: a list item, or the reply to get
}

// Progress says how far the votes on a pending ask have come, in a language such
// as "zh-CN"; empty for an ask without an approval: see [Tally.Words].
func (r *Record) Progress(lang string, now time.Time) string {
	if r.Ask.Approval == nil || r.State == StateResolved || r.Outcome != nil {
		return ""
	}
	t := r.Ask.Tally(r.Votes, now)
	return t.Words(lang)
}

// Ladder says how far a pending ask has been escalated and what comes next; empty
// for an ask without a ladder: see [Ask.LadderWords].
func (r *Record) Ladder(lang string, now time.Time) string {
	if r.State == StateResolved || r.Outcome != nil {
		return ""
	}
	return r.Ask.LadderWords(r.AskedAt, r.Escalated, now, lang)
}

// Waits says in one sentence what a pending ask waits for: [Record.Progress] and
// [Record.Ladder].
func (r *Record) Waits(lang string, now time.Time) string {
	votes, ladder := r.Progress(lang, now), r.Ladder(lang, now)
	if votes == "" || ladder == "" {
		return votes + ladder
	}
	return votes + voteWords(lang).semicolon + ladder
}

// Deadline returns when the ask ends by itself, and whether the asker declared
// that. The implied [MaxTimeout] is not worth showing to people.
func (r *Record) Deadline() (at time.Time, declared bool) {
	at = r.Ask.Deadline
	const slack = time.Minute // between the clocks that dated the question
	return at, !at.IsZero() && (r.AskedAt.IsZero() || at.Sub(r.AskedAt) < MaxTimeout-slack)
}
