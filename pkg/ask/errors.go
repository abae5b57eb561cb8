package ask

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors that callers branch on. An [*Error] unwraps to the one of its code.
var (
	ErrInvalid     = errors.New("invalid")                 // the request has faults
	ErrForbidden   = errors.New("forbidden")               // not allowed, or not signed in
	ErrVoted       = errors.New("counted as a vote")       // the ask stays open; [Error.Votes] are the votes so far
	ErrNotFound    = errors.New("unknown ask")             // 404
	ErrResolved    = errors.New("already resolved")        // somebody else was first; [Error.Outcome] says who
	ErrIDReused    = errors.New("id reused")               // the id belongs to another ask
	ErrConflict    = errors.New("another revision")        // a compare-and-set of shared state failed
	ErrTooLarge    = errors.New("too large")               // 413
	ErrQuota       = errors.New("over quota")              // 429
	ErrUnavailable = errors.New("unavailable")             // no ledger, or the ledger is full
	ErrNobody      = errors.New("nobody there to answer")  // the ask requires a responder
	ErrUnsupported = errors.New("not known to this build") // a newer peer's question kind or event
	ErrAskedAgain  = errors.New("asked again since")       // a card of an earlier life of the ask; only within a surface
)

// Codes of refusals, as used in a problem body.
const (
	CodeInvalid      = "invalid"
	CodeUnauthorized = "unauthorized"
	CodeForbidden    = "forbidden"
	CodeVoted        = "voted"
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

// Error is a refusal: the Go form of a problem body.
type Error struct {
	Code    string // one of the Code constants
	Detail  string // a sentence for a person
	Faults  []Fault
	Outcome *Outcome // for [ErrResolved]: the outcome that won
	Votes   []Vote   // for [ErrVoted]
}

// Error returns the detail followed by every fault.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Detail)
	faults := e.Faults
	if e.isFault() {
		faults = nil
	}
	for i, f := range faults {
		if i == 0 && b.Len() > 0 {
			b.WriteString(": ")
		} else if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// Unwrap returns the sentinel error of the code.
func (e *Error) Unwrap() error { return sentinels[e.Code] }

//nolint:gochecknoglobals // a table
var sentinels = map[string]error{
	CodeInvalid:      ErrInvalid,
	CodeUnauthorized: ErrForbidden,
	CodeForbidden:    ErrForbidden,
	CodeVoted:        ErrVoted,
	CodeNotFound:     ErrNotFound,
	CodeResolved:     ErrResolved,
	CodeExpired:      ErrResolved,
	CodeIDReused:     ErrIDReused,
	CodeConflict:     ErrConflict,
	CodeTooLarge:     ErrTooLarge,
	CodeQuota:        ErrQuota,
	CodeNobody:       ErrNobody,
	CodeUnavailable:  ErrUnavailable,
	CodeLedgerFull:   ErrUnavailable,
}

// isFault reports whether the detail is the words of the only fault, as
// [Refusal] makes it.
func (e *Error) isFault() bool {
	return len(e.Faults) == 1 && e.Faults[0].Pointer == "" && e.Faults[0].Message == e.Detail
}

// In returns the refusal with the words of its faults in a language such as
// "zh-CN", and with its detail if that is from the catalogue ([Refusal]).
func (e *Error) In(lang string) *Error {
	told := *e
	if e.isFault() {
		told.Detail = e.Faults[0].In(lang)
	}
	told.Faults = slices.Clone(e.Faults)
	for i := range told.Faults {
		told.Faults[i].Message = told.Faults[i].In(lang)
	}
	return &told
}

// Refusal returns the refusal of a request as a whole, in the words of the
// catalogue: its detail is that of its only fault. The arguments are those of
// [NewFault].
func Refusal(code string, what FaultCode, args ...any) *Error {
	f := NewFault("", what, args...)
	return &Error{Code: code, Detail: f.Message, Faults: []Fault{f}}
}

// Refuse returns an [*Error] with a formatted detail.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// At says which value of the request the refusal is about. The arguments are those
// of [NewFault].
func (e *Error) At(pointer string, what FaultCode, args ...any) *Error {
	e.Faults = append(e.Faults, NewFault(pointer, what, args...))
	return e
}

// InvalidError returns the refusal of an invalid request, or nil if there are
// no faults.
func InvalidError(what string, faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Detail: "invalid " + what, Faults: faults}
}
