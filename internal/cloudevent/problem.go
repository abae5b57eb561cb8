package cloudevent

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
)

// TypeProblem is the content type of an error body (RFC 9457).
const TypeProblem = "application/problem+json"

type problemJSON struct {
	Type    string          `json:"type"`
	Title   string          `json:"title"`
	Status  int             `json:"status"`
	Code    string          `json:"code"`
	Detail  string          `json:"detail"`
	Errors  []faultJSON     `json:"errors,omitempty"`
	Outcome json.RawMessage `json:"outcome,omitempty"`
}

type faultJSON struct {
	Pointer    string `json:"pointer"`
	QuestionID string `json:"question_id,omitempty"`
	Detail     string `json:"detail"`
}

// AsError is err as a refusal. What is no [*ask.Error] becomes 500 without
// its inner words.
func AsError(err error) *ask.Error {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e
	}
	return ask.Refuse(http.StatusInternalServerError, ask.CodeInternal, "something went wrong inside the broker; its log says more")
}

// EncodeProblem is the problem body of a refusal.
func EncodeProblem(e *ask.Error) []byte {
	w := problemJSON{Type: "about:blank", Title: http.StatusText(e.Status), Status: e.Status, Code: e.Code, Detail: e.Detail}
	for _, f := range e.Faults {
		w.Errors = append(w.Errors, faultJSON{f.Pointer, f.QuestionID, f.Message})
	}
	if e.Outcome != nil {
		w.Outcome, _ = EncodeOutcome(e.Outcome, nil) // what was read can be written
	}
	data, _ := marshal(w)
	return data
}

// DecodeProblem reads a problem body; nil when it is none.
func DecodeProblem(data []byte) *ask.Error {
	var w problemJSON
	if err := unmarshal(data, &w); err != nil || w.Status == 0 {
		return nil //nolint:nilerr // no problem body is no problem
	}
	e := &ask.Error{Status: w.Status, Code: w.Code, Detail: w.Detail}
	for _, f := range w.Errors {
		e.Faults = append(e.Faults, ask.Fault{Pointer: f.Pointer, QuestionID: f.QuestionID, Message: f.Detail})
	}
	if len(w.Outcome) > 0 {
		if o, err := DecodeOutcome(w.Outcome); err == nil {
			e.Outcome = &o
		}
	}
	return e
}
