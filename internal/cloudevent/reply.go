package cloudevent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Status is what the broker says of an ask that has not just ended.
type Status struct {
	State    ask.State
	Key      ask.Key
	Deadline time.Time
	AskedAt  time.Time
	Seq      uint64
	Ask      *ask.Ask        // get and wait
	RawAsk   json.RawMessage // stands for Ask when encoding
	Outcome  *ask.Outcome
	Receipts []ask.Receipt // get
	Warnings []string      // ask
	Present  []string      // ask: the responder types at which a person is
}

type statusJSON struct {
	State    string          `json:"state"`
	AskID    string          `json:"ask_id"`
	Tenant   string          `json:"tenant,omitempty"`
	Session  string          `json:"session,omitempty"`
	AskedAt  *time.Time      `json:"asked_at,omitempty"`
	Deadline *time.Time      `json:"deadline,omitempty"`
	Seq      uint64          `json:"seq,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Present  []string        `json:"present"`
	Ask      json.RawMessage `json:"ask,omitempty"`
	Outcome  json.RawMessage `json:"outcome,omitempty"`
	Receipts []receiptJSON   `json:"receipts,omitempty"`
}

// EncodeStatus is the data of a status event.
func EncodeStatus(s *Status) ([]byte, error) {
	w := statusJSON{
		State: string(s.State), AskID: s.Key.ID, Tenant: s.Key.Tenant, Session: s.Key.Session, Seq: s.Seq,
		Warnings: s.Warnings, Present: s.Present, AskedAt: stamp(s.AskedAt), Deadline: stamp(s.Deadline), Ask: s.RawAsk,
	}
	if w.Present == nil {
		w.Present = []string{}
	}
	var err error
	if s.RawAsk == nil && s.Ask != nil {
		if w.Ask, err = EncodeAsk(s.Ask); err != nil {
			return nil, err
		}
	}
	if s.Outcome != nil {
		if w.Outcome, err = EncodeOutcome(s.Outcome, nil); err != nil {
			return nil, err
		}
	}
	for _, r := range s.Receipts {
		w.Receipts = append(w.Receipts, wireReceipt(r))
	}
	return marshal(w)
}

// DecodeStatus reads the data of a status event.
func DecodeStatus(data []byte) (Status, error) {
	var w statusJSON
	if err := unmarshal(data, &w); err != nil {
		return Status{}, fmt.Errorf("read status: %w", err)
	}
	s := Status{
		State: ask.State(w.State), Key: ask.Key{Tenant: w.Tenant, Session: w.Session, ID: w.AskID},
		Seq: w.Seq, Warnings: w.Warnings, Present: w.Present, RawAsk: w.Ask, Deadline: when(w.Deadline), AskedAt: when(w.AskedAt),
	}
	if len(w.Ask) > 0 {
		a, err := readAsk(w.Ask, w.Tenant, w.Session)
		if err != nil {
			return Status{}, err
		}
		s.Ask = &a
	}
	if len(w.Outcome) > 0 {
		o, err := DecodeOutcome(w.Outcome)
		if err != nil {
			return Status{}, err
		}
		s.Outcome = &o
	}
	for i := range w.Receipts {
		s.Receipts = append(s.Receipts, w.Receipts[i].receipt())
	}
	return s, nil
}

// Query is the body of a list request.
type Query struct {
	Tenant   string `json:"tenant,omitempty"`
	Session  string `json:"session,omitempty"`
	ID       string `json:"id,omitempty"` // of the ask: finds it in every session
	State    string `json:"state,omitempty"`
	Question string `json:"question,omitempty"`
	Limit    int    `json:"limit,omitempty"`
	Cursor   string `json:"cursor,omitempty"`
}

// Bounds of a list page.
const (
	DefaultPage = 100
	MaxPage     = 500
)

// DecodeQuery reads a list request, strictly; an empty body asks for
// everything.
func DecodeQuery(data []byte) (Query, error) {
	q := Query{}
	if len(data) > 0 {
		if err := Strict("list", data, &q); err != nil {
			return Query{}, err
		}
	}
	var f []ask.Fault
	add := func(at, message string) { f = append(f, ask.Fault{Pointer: at, Message: message}) }
	if q.Tenant != "" && !ask.ValidToken(q.Tenant) {
		add("/tenant", "is no token: use A-Z a-z 0-9 _ -")
	}
	if q.Session != "" && !ask.ValidToken(q.Session) {
		add("/session", "is no token: use A-Z a-z 0-9 _ -")
	}
	if q.ID != "" && !ask.ValidToken(q.ID) {
		add("/id", "is no token: use A-Z a-z 0-9 _ -")
	}
	switch ask.State(q.State) {
	case "", ask.StatePending, ask.StateResolved:
	default:
		add("/state", "use pending or resolved")
	}
	switch {
	case q.Limit < 0 || q.Limit > MaxPage:
		add("/limit", fmt.Sprintf("use 1 to %d", MaxPage))
	case q.Limit == 0:
		q.Limit = DefaultPage
	}
	return q, ask.InvalidError("list", f)
}

// ListItem is one ask of a page, for encoding.
type ListItem struct {
	Record  ask.Record
	RawAsk  json.RawMessage // stands for Record.Ask
	Outcome json.RawMessage // stands for Record.Outcome
}

func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func when(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// Record is the status as a record.
func (s *Status) Record() ask.Record {
	r := ask.Record{State: s.State, AskedAt: s.AskedAt, Seq: s.Seq, Outcome: s.Outcome, Receipts: s.Receipts}
	if s.Ask != nil {
		r.Ask = *s.Ask
	}
	if r.Ask.ID == "" {
		r.Ask.ID, r.Ask.Tenant, r.Ask.Session, r.Ask.Deadline = s.Key.ID, s.Key.Tenant, s.Key.Session, s.Deadline
	}
	return r
}
