package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1" // encoding/json on the decoder of its successor: reads in half the time
)

// The public types marshal to the protocol's JSON, mostly through their tags.
// The methods here translate what Go and JSON express differently: durations,
// switches whose zero value is the default, defaults and limits.

// marshal is json.Marshal without HTML escapes. With them, an ask that fitted
// into an event could grow sixfold in the ledger.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// duration is a time span in Go syntax, such as "2h" or "90s".
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = duration(v)
	return err
}

// The wire types have no methods of their own: encoding/json reads or writes a
// whole document in one pass. A method on each level would make it scan what is
// below several times: an outcome holds an ask, which holds questions. A field
// that is spelled alike in Go and in JSON needs no mention here.
//
// Documents are read with go-json-experiment's json/v1, which is encoding/json on
// the reader of its successor (an outcome takes 6.6 µs instead of 13.5), and
// written with encoding/json, which is the faster of the two at that. When Go's
// own package is built on that reader, the import goes back to it.
type (
	plainAsk      Ask
	plainOutcome  Outcome
	plainRecord   Record
	plainQuestion Question

	wireAsk struct {
		plainAsk
		Questions []wireQuestion `json:"questions"`
		Timeout   duration       `json:"timeout,omitempty"`
	}
	wireQuestion struct {
		plainQuestion
		AllowOther *bool  `json:"allow_other,omitempty"`
		Required   *bool  `json:"required,omitempty"`
		Default    *value `json:"default,omitempty"`
	}
	wireOutcome struct {
		plainOutcome
		Waited int64    `json:"waited_ms"`
		Ask    *wireAsk `json:"ask,omitempty"` // last, as people read it
	}
)

// exactly reads like jsonv1.Unmarshal, but refuses fields that a type does not
// have.
//
//nolint:gochecknoglobals // a constant
var exactly = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false), jsonv2.RejectUnknownMembers(true))

// read decodes a document into w, a wire type. It returns a copy of the document
// if that has fields which w does not: of a newer peer.
func read[T any](data []byte, w *T) (raw json.RawMessage, err error) {
	err = jsonv2.Unmarshal(data, w, exactly)
	if err == nil {
		return nil, nil
	}
	if errors.Is(err, jsonv2.ErrUnknownName) {
		raw = bytes.Clone(data)
	}
	*w = *new(T)
	err = jsonv1.Unmarshal(data, w)
	if wrong, ok := errors.AsType[*jsonv1.UnmarshalTypeError](err); ok { // as callers know it from encoding/json
		err = &json.UnmarshalTypeError{Value: wrong.Value, Type: wrong.Type, Offset: wrong.Offset, Struct: wrong.Struct, Field: wrong.Field}
	}
	return raw, err
}

func newWireAsk(a *Ask) wireAsk {
	w := wireAsk{plainAsk(*a), make([]wireQuestion, len(a.Questions)), duration(a.Timeout)}
	if !a.Deadline.IsZero() {
		w.Deadline = a.Deadline.UTC()
	}
	for i := range a.Questions {
		w.Questions[i] = newWireQuestion(&a.Questions[i])
	}
	return w
}

// ask returns what was read as an ask of the session.
func (w *wireAsk) ask(tenant, session string) Ask {
	a := Ask(w.plainAsk)
	a.Tenant, a.Session, a.Timeout = tenant, session, time.Duration(w.Timeout)
	if !a.Deadline.IsZero() {
		a.Deadline = a.Deadline.UTC()
	}
	if w.Questions != nil {
		a.Questions = make([]Question, len(w.Questions))
	}
	for i := range w.Questions {
		a.Questions[i] = w.Questions[i].question()
	}
	return a
}

// MarshalJSON writes the ask without tenant and session.
func (a Ask) MarshalJSON() ([]byte, error) { return marshal(newWireAsk(&a)) }

// UnmarshalJSON reads an ask. It keeps the tenant and session. A reader may be
// older than the writer: unknown fields stay in Raw.
func (a *Ask) UnmarshalJSON(data []byte) error {
	var w wireAsk
	raw, err := read(data, &w)
	if err != nil {
		return err
	}
	*a = w.ask(a.Tenant, a.Session)
	a.Raw = raw
	return nil
}

func newWireQuestion(q *Question) wireQuestion {
	w := wireQuestion{plainQuestion: plainQuestion(*q), Required: new(!q.Optional), Default: (*value)(q.Default)}
	if q.Kind == KindChoice || q.NoOther || q.Kind == "" && len(q.Options) > 0 {
		w.AllowOther = new(!q.NoOther)
	}
	return w
}

func (w *wireQuestion) question() Question {
	q := Question(w.plainQuestion)
	q.NoOther = w.AllowOther != nil && !*w.AllowOther
	q.Optional = w.Required != nil && !*w.Required
	q.Default = (*Answer)(w.Default)
	return q
}

// MarshalJSON writes the question.
func (q Question) MarshalJSON() ([]byte, error) { return marshal(newWireQuestion(&q)) }

// UnmarshalJSON reads a question. It ignores unknown fields.
func (q *Question) UnmarshalJSON(data []byte) error {
	var w wireQuestion
	if err := jsonv1.Unmarshal(data, &w); err != nil {
		return err
	}
	*q = w.question()
	return nil
}

// value is an answer written as a bare value: a list of option ids, a string, a
// number or a boolean.
type value Answer

func (v value) MarshalJSON() ([]byte, error) {
	switch {
	case v.Selected != nil:
		return marshal(v.Selected)
	case v.Number != nil:
		return marshal(*v.Number)
	case v.Boolean != nil:
		return marshal(*v.Boolean)
	case v.Date != "":
		return marshal(v.Date)
	default:
		return marshal(v.Text)
	}
}

func (v *value) UnmarshalJSON(data []byte) error {
	var raw any
	if err := jsonv1.Unmarshal(data, &raw); err != nil {
		return err
	}
	switch raw := raw.(type) {
	case []any:
		v.Selected = make([]string, len(raw))
		for i, id := range raw {
			s, ok := id.(string)
			if !ok && id != nil { // Validate rejects null
				return fmt.Errorf("item %d is not a string", i)
			}
			v.Selected[i] = s
		}
	case string:
		v.Text = raw
	case float64:
		v.Number = &raw
	case bool:
		v.Boolean = &raw
	default:
		return fmt.Errorf("%s is not a default", data)
	}
	return nil
}

// MarshalJSON writes the limits.
func (l Limits) MarshalJSON() ([]byte, error) {
	type plain Limits
	return marshal(struct {
		Min *bound `json:"min,omitempty"`
		Max *bound `json:"max,omitempty"`
		plain
	}{newBound(l.Min, l.MinDate), newBound(l.Max, l.MaxDate), plain(l)})
}

// UnmarshalJSON reads limits. It ignores unknown fields.
func (l *Limits) UnmarshalJSON(data []byte) error { return jsonv1.Unmarshal(data, l) }

// UnmarshalJSONFrom reads limits within a document, whose reader says what
// happens with unknown fields.
func (l *Limits) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	type plain Limits
	w := struct {
		Min bound `json:"min"`
		Max bound `json:"max"`
		*plain
	}{plain: &plain{}}
	if err := jsonv2.UnmarshalDecode(from, &w); err != nil {
		return err
	}
	*l = Limits(*w.plain)
	l.Min, l.MinDate, l.Max, l.MaxDate = w.Min.number, w.Min.date, w.Max.number, w.Max.date
	return nil
}

// bound is one limit: a number, or a date as a string.
type bound struct {
	number *float64
	date   string
}

func newBound(number *float64, date string) *bound {
	if number == nil && date == "" {
		return nil
	}
	return &bound{number, date}
}

func (b bound) MarshalJSON() ([]byte, error) {
	if b.number != nil {
		return marshal(*b.number)
	}
	return strconv.AppendQuote(nil, b.date), nil
}

func (b *bound) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		if err := jsonv1.Unmarshal(data, &b.date); err != nil {
			return err
		}
		_, err := time.Parse(time.DateOnly, b.date)
		return err
	}
	return jsonv1.Unmarshal(data, &b.number)
}

// MarshalJSON writes the outcome, with its ask if it has one.
func (o Outcome) MarshalJSON() ([]byte, error) {
	w := wireOutcome{plainOutcome: plainOutcome(o), Waited: o.Waited.Milliseconds()}
	w.At = o.At.UTC()
	if o.Answers == nil {
		w.Answers = []Answer{}
	}
	if o.Ask != nil {
		w.Ask = new(newWireAsk(o.Ask))
	}
	return marshal(w)
}

// UnmarshalJSON reads an outcome. Unknown fields stay in Raw.
func (o *Outcome) UnmarshalJSON(data []byte) error {
	var w wireOutcome
	raw, err := read(data, &w)
	if err != nil {
		return err
	}
	*o = w.outcome()
	o.Raw = raw
	return nil
}

func (w *wireOutcome) outcome() Outcome {
	o := Outcome(w.plainOutcome)
	o.Waited = time.Duration(w.Waited) * time.Millisecond
	if len(o.Answers) == 0 {
		o.Answers = nil
	}
	if w.Ask != nil {
		o.Ask = new(w.Ask.ask(o.Tenant, o.Session))
	}
	return o
}

// MarshalJSON writes the record as a list item.
func (r Record) MarshalJSON() ([]byte, error) {
	w := struct {
		Session
		plainRecord
		Deadline time.Time `json:"deadline,omitzero"`
	}{r.Ask.Key().InSession(), plainRecord(r), r.Ask.Deadline}
	if r.Outcome != nil {
		o := *r.Outcome
		o.Ask = nil
		w.Outcome = &o
	}
	return marshal(w)
}

// UnmarshalJSON reads a record. Unknown fields stay in Raw, also of its outcome.
func (r *Record) UnmarshalJSON(data []byte) error {
	var w struct {
		Session
		plainRecord
		Ask      wireAsk         `json:"ask"`
		Outcome  *wireOutcome    `json:"outcome"`
		Deadline json.RawMessage `json:"deadline"` // of the ask, which has it
	}
	raw, err := read(data, &w)
	if err != nil {
		return err
	}
	*r = Record(w.plainRecord)
	r.Raw = raw
	r.Ask = w.Ask.ask(w.Tenant, w.Name)
	if w.Outcome != nil {
		r.Outcome = new(w.Outcome.outcome())
		if r.Outcome.Ask == nil {
			r.Outcome.Ask = &r.Ask
		}
		if raw != nil {
			var of struct{ Outcome json.RawMessage }
			err = jsonv1.Unmarshal(raw, &of)
			r.Outcome.Raw = of.Outcome
		}
	}
	return err
}
