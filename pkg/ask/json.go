package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
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

// MarshalJSON writes the ask without tenant and session.
func (a Ask) MarshalJSON() ([]byte, error) {
	type plain Ask
	w := struct {
		plain
		Timeout duration `json:"timeout,omitempty"`
	}{plain(a), duration(a.Timeout)}
	if !a.Deadline.IsZero() {
		w.Deadline = a.Deadline.UTC()
	}
	if a.Questions == nil {
		w.Questions = []Question{}
	}
	return marshal(w)
}

// UnmarshalJSON reads an ask. It keeps the tenant and session, and ignores
// unknown fields: a reader may be older than the writer.
func (a *Ask) UnmarshalJSON(data []byte) error {
	type plain Ask
	w := struct {
		*plain
		Timeout duration `json:"timeout"`
	}{plain: &plain{Tenant: a.Tenant, Session: a.Session}}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*a = Ask(*w.plain)
	a.Timeout = time.Duration(w.Timeout)
	if !a.Deadline.IsZero() {
		a.Deadline = a.Deadline.UTC()
	}
	return nil
}

// MarshalJSON writes the question.
func (q Question) MarshalJSON() ([]byte, error) {
	type plain Question
	w := struct {
		plain
		AllowOther *bool  `json:"allow_other,omitempty"`
		Required   bool   `json:"required"`
		Default    *value `json:"default,omitempty"`
	}{plain: plain(q), Required: !q.Optional, Default: (*value)(q.Default)}
	if q.Kind == KindChoice || q.NoOther || q.Kind == "" && len(q.Options) > 0 {
		w.AllowOther = new(!q.NoOther)
	}
	return marshal(w)
}

// UnmarshalJSON reads a question. It ignores unknown fields.
func (q *Question) UnmarshalJSON(data []byte) error {
	type plain Question
	w := struct {
		*plain
		AllowOther *bool  `json:"allow_other"`
		Required   *bool  `json:"required"`
		Default    *value `json:"default"`
	}{plain: &plain{}}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*q = Question(*w.plain)
	q.NoOther = w.AllowOther != nil && !*w.AllowOther
	q.Optional = w.Required != nil && !*w.Required
	q.Default = (*Answer)(w.Default)
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
	if err := json.Unmarshal(data, &raw); err != nil {
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
func (l *Limits) UnmarshalJSON(data []byte) error {
	type plain Limits
	w := struct {
		Min bound `json:"min"`
		Max bound `json:"max"`
		*plain
	}{plain: &plain{}}
	if err := json.Unmarshal(data, &w); err != nil {
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
		if err := json.Unmarshal(data, &b.date); err != nil {
			return err
		}
		_, err := time.Parse(time.DateOnly, b.date)
		return err
	}
	return json.Unmarshal(data, &b.number)
}

// MarshalJSON writes the outcome, with its ask if it has one.
func (o Outcome) MarshalJSON() ([]byte, error) {
	type plain Outcome
	w := struct {
		plain
		Waited int64 `json:"waited_ms"`
		Ask    *Ask  `json:"ask,omitempty"` // last, as people read it
	}{plain(o), o.Waited.Milliseconds(), o.Ask}
	w.At = o.At.UTC()
	if o.Answers == nil {
		w.Answers = []Answer{}
	}
	return marshal(w)
}

// UnmarshalJSON reads an outcome. It ignores unknown fields.
func (o *Outcome) UnmarshalJSON(data []byte) error {
	type plain Outcome
	w := struct {
		*plain
		Waited int64 `json:"waited_ms"`
	}{plain: &plain{}}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*o = Outcome(*w.plain)
	o.Waited = time.Duration(w.Waited) * time.Millisecond
	if len(o.Answers) == 0 {
		o.Answers = nil
	}
	if o.Ask != nil {
		o.Ask.Tenant, o.Ask.Session = o.Tenant, o.Session
	}
	return nil
}

// MarshalJSON writes the record as a list item.
func (r Record) MarshalJSON() ([]byte, error) {
	type plain Record
	w := struct {
		Session
		plain
		Deadline time.Time `json:"deadline,omitzero"`
	}{r.Ask.Key().InSession(), plain(r), r.Ask.Deadline}
	if r.Outcome != nil {
		o := *r.Outcome
		o.Ask = nil
		w.Outcome = &o
	}
	return marshal(w)
}

// UnmarshalJSON reads a record. It ignores unknown fields.
func (r *Record) UnmarshalJSON(data []byte) error {
	type plain Record
	w := struct {
		Session
		*plain
	}{plain: &plain{}}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*r = Record(*w.plain)
	r.Ask.Tenant, r.Ask.Session = w.Tenant, w.Name
	if r.Outcome != nil && r.Outcome.Ask == nil {
		r.Outcome.Ask = &r.Ask
	}
	return nil
}
