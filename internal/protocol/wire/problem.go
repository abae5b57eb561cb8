package wire

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
	Errors  []ask.Fault     `json:"errors,omitempty"`
	Outcome json.RawMessage `json:"outcome,omitempty"`
}

// AsError converts err to an [*ask.Error]. Unknown errors become
// [ask.CodeInternal] and hide their message.
func AsError(err error) *ask.Error {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e
	}
	return ask.Refusal(ask.CodeInternal, ask.FaultBrokerFailed)
}

// EncodeProblem returns the problem body of a refusal.
func EncodeProblem(e *ask.Error) []byte {
	status := HTTPStatus(e.Code)
	w := problemJSON{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: e.Code, Detail: e.Detail, Errors: e.Faults}
	if e.Outcome != nil {
		w.Outcome, _ = CarryOutcome(e.Outcome) // a decoded outcome can be encoded
	}
	data, _ := Marshal(w)
	return data
}

// DecodeProblem reads a problem body; nil if data is not one.
func DecodeProblem(data []byte) *ask.Error {
	var w problemJSON
	if err := json.Unmarshal(data, &w); err != nil || w.Status == 0 {
		return nil //nolint:nilerr // another body is not an error
	}
	e := &ask.Error{Code: w.Code, Detail: w.Detail, Faults: w.Errors}
	if len(w.Outcome) > 0 {
		if o, err := DecodeOutcome(w.Outcome); err == nil {
			e.Outcome = &o
		}
	}
	return e
}
