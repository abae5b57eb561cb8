package ask

import (
	"errors"
	"fmt"
	"strings"
)

// What callers branch on. An [*Error] unwraps to the one of its code.
var (
	ErrInvalid     = errors.New("invalid")                 // the request has faults
	ErrForbidden   = errors.New("forbidden")               // not allowed to, or not signed in
	ErrNotFound    = errors.New("unknown ask")             // 404
	ErrResolved    = errors.New("already resolved")        // somebody was faster; [Error.Outcome] says who
	ErrIDReused    = errors.New("id reused")               // the id stands for another ask
	ErrConflict    = errors.New("another revision")        // a compare-and-set of shared state failed
	ErrTooLarge    = errors.New("too large")               // 413
	ErrQuota       = errors.New("over quota")              // 429
	ErrUnavailable = errors.New("unavailable")             // no ledger, or it is full
	ErrNobody      = errors.New("nobody there to answer")  // the ask requires a responder
	ErrUnsupported = errors.New("not known to this build") // a newer peer's question kind or event
)

// Codes of refusals, as they stand in a problem body.
const (
	CodeInvalid      = "invalid"
	CodeUnauthorized = "unauthorized"
	CodeForbidden    = "forbidden"
	CodeNotFound     = "not_found"
	CodeResolved     = "already_resolved"
	CodeExpired      = "expired"
	CodeIDReused     = "id_reused"
	CodeConflict     = "conflict"
	CodeTooLarge     = "too_large"
	CodeQuota        = "quota"
	CodeUnavailable  = "unavailable"
	CodeLedgerFull   = "ledger_full"
	CodeNobody       = "nobody_there"
	CodeInternal     = "internal"
)

// Fault is one thing wrong with a request.
type Fault struct {
	Pointer    string `json:"pointer"`               // RFC 6901 JSON pointer into the body; "" is the whole body
	QuestionID string `json:"question_id,omitempty"` // the question at fault, when an answer is
	Message    string `json:"detail"`                // what is wrong and what to do
}

// String is the fault as one line.
func (f Fault) String() string {
	if f.Pointer == "" {
		return f.Message
	}
	return f.Pointer + ": " + f.Message
}

// Error is a refusal: what a problem body says, as a Go error.
type Error struct {
	Code    string // one of the Code constants
	Detail  string // a sentence for a person
	Faults  []Fault
	Outcome *Outcome // for [ErrResolved]: the outcome that holds
}

// Error says the detail and every fault.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Detail)
	for i, f := range e.Faults {
		if i == 0 && b.Len() > 0 {
			b.WriteString(": ")
		} else if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// Unwrap gives the sentinel of the code.
func (e *Error) Unwrap() error {
	switch e.Code {
	case CodeInvalid:
		return ErrInvalid
	case CodeUnauthorized, CodeForbidden:
		return ErrForbidden
	case CodeNotFound:
		return ErrNotFound
	case CodeResolved, CodeExpired:
		return ErrResolved
	case CodeIDReused:
		return ErrIDReused
	case CodeConflict:
		return ErrConflict
	case CodeTooLarge:
		return ErrTooLarge
	case CodeQuota:
		return ErrQuota
	case CodeNobody:
		return ErrNobody
	case CodeUnavailable, CodeLedgerFull:
		return ErrUnavailable
	}
	return nil
}

// Refuse makes an [*Error] whose detail is formatted.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// InvalidError makes the refusal of a request with faults, or nil when there
// are none.
func InvalidError(what string, faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Detail: "invalid " + what, Faults: faults}
}
