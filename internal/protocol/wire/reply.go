package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// StatusReply is the broker's reply about an ask that did not end with this
// request.
type StatusReply struct {
	State      ask.State
	Key        ask.Key
	Deadline   time.Time
	AskedAt    time.Time
	Life       string
	Seq        uint64
	Created    *bool           // ask: this event stored it; nil for other verbs
	Ask        *ask.Ask        // get and wait
	RawAsk     json.RawMessage // replaces Ask when encoding
	Outcome    *ask.Outcome
	RawOutcome json.RawMessage // replaces Outcome when encoding
	Receipts   []ask.Receipt   // get
	Votes      []ask.Vote      // pending: so far
	Progress   string          // pending, with an approval or a ladder: how far both have come
	Escalated  *ask.Escalated  // pending, with a ladder: how far it has come
	Warnings   []string        // ask
	Present    []string        // ask: the responder types with a person present
	Hold       time.Duration   // pending, to ask and wait: continue with wait, held for this long
	Holder     string          // pending, to ask and wait: the broker that replied; see subject.Alive
	Raw        json.RawMessage // as it was read, if that has fields which this version does not know
}

type statusJSON struct {
	State    string          `json:"state"`
	AskID    string          `json:"ask_id"`
	Tenant   string          `json:"tenant,omitempty"`
	Session  string          `json:"session,omitempty"`
	AskedAt  time.Time       `json:"asked_at,omitzero"`
	Deadline time.Time       `json:"deadline,omitzero"`
	Life     string          `json:"life,omitempty"`
	Seq      uint64          `json:"seq,omitempty"`
	Created  *bool           `json:"created,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Present  []string        `json:"present"`
	Retry    string          `json:"retry,omitempty"`
	Hold     string          `json:"hold,omitempty"`
	Holder   string          `json:"holder,omitempty"`
	Ask      json.RawMessage `json:"ask,omitempty"`
	Outcome  json.RawMessage `json:"outcome,omitempty"`
	Receipts []ask.Receipt   `json:"receipts,omitempty"`
	Votes    []ask.Vote      `json:"votes,omitempty"`
	Progress string          `json:"progress,omitempty"`
	Escalate *ask.Escalated  `json:"escalated,omitempty"`
}

// EncodeStatus returns the data of a status event.
func EncodeStatus(s *StatusReply) ([]byte, error) {
	w := statusJSON{
		State: string(s.State), AskID: s.Key.ID, Tenant: s.Key.Tenant, Session: s.Key.Session, Life: s.Life, Seq: s.Seq, Created: s.Created,
		Warnings: s.Warnings, Present: s.Present, AskedAt: s.AskedAt.UTC(), Deadline: s.Deadline.UTC(), Ask: s.RawAsk, Receipts: s.Receipts, Holder: s.Holder,
		Votes: s.Votes, Progress: s.Progress, Escalate: s.Escalated,
	}
	if s.Hold > 0 {
		w.Retry, w.Hold = "wait", s.Hold.String()
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
	if w.Outcome = s.RawOutcome; w.Outcome == nil && s.Outcome != nil {
		if w.Outcome, err = CarryOutcome(s.Outcome); err != nil {
			return nil, err
		}
	}
	return Marshal(w)
}

// decodeStatus reads the data of a status event.
func decodeStatus(data []byte) (StatusReply, error) {
	var w statusJSON
	err := jsonv2.Unmarshal(data, &w, jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false), jsonv2.RejectUnknownMembers(true))
	newer := errors.Is(err, jsonv2.ErrUnknownName)
	if err != nil {
		w = statusJSON{}
		err = jsonv1.Unmarshal(data, &w)
	}
	if err != nil {
		return StatusReply{}, fmt.Errorf("read status: %w", err)
	}
	s := StatusReply{
		State: ask.State(w.State), Key: ask.Key{Tenant: w.Tenant, Session: w.Session, ID: w.AskID},
		Life: w.Life, Seq: w.Seq, Created: w.Created, Warnings: w.Warnings, Present: w.Present, RawAsk: w.Ask, Deadline: w.Deadline, AskedAt: w.AskedAt, Receipts: w.Receipts, Holder: w.Holder,
		Votes: w.Votes, Progress: w.Progress, Escalated: w.Escalate,
	}
	if len(w.Ask) > 0 {
		s.Ask = &ask.Ask{Tenant: w.Tenant, Session: w.Session}
		if err := s.Ask.UnmarshalJSON(w.Ask); err != nil {
			return StatusReply{}, fmt.Errorf("read status: %w", err)
		}
	}
	if len(w.Outcome) > 0 {
		o, err := DecodeOutcome(w.Outcome)
		if err != nil {
			return StatusReply{}, err
		}
		s.Outcome = &o
	}
	if newer || s.Ask != nil && s.Ask.Raw != nil || s.Outcome != nil && s.Outcome.Raw != nil {
		s.Raw = data
	}
	return s, nil
}

// Query is the body of a list request.
type Query struct {
	Tenant   string `json:"tenant,omitempty"`
	Session  string `json:"session,omitempty"`
	ID       string `json:"id,omitempty"` // of the ask, in any session: the server finds it by its subject, without reading others
	State    string `json:"state,omitempty"`
	Question string `json:"question,omitempty"`
	Limit    int    `json:"limit,omitempty"`
	Cursor   string `json:"cursor,omitempty"`
	// Heads asks for the heads of pending asks, with a mark.
	Heads bool `json:"heads,omitempty"`
	// Since is a mark: only later changes are wanted, including ended asks.
	Since string `json:"since,omitempty"`
}

// Bounds of a list page.
const (
	defaultPage = 100
	MaxPage     = 500
)

// DecodeQuery reads a list request, strictly; an empty body asks for
// everything.
func DecodeQuery(data []byte) (Query, error) {
	return decode("list", optional(data), func(q *Query) (f []ask.Fault) {
		add := func(at string, code ask.FaultCode, args ...any) { f = append(f, ask.NewFault(at, code, args...)) }
		for _, of := range []struct{ at, token string }{{"/tenant", q.Tenant}, {"/session", q.Session}, {"/id", q.ID}} {
			if of.token != "" && !ask.ValidToken(of.token) {
				add(of.at, ask.FaultBadToken, clip(of.token), ask.MaxToken)
			}
		}
		if q.Since != "" && (!q.Heads || q.State != "" || q.Question != "" || q.ID != "") {
			add("/since", ask.FaultSinceAlone)
		}
		if q.Heads && q.Since == "" && q.State != string(ask.StatePending) {
			add("/heads", ask.FaultHeadsAlone)
		}
		switch ask.State(q.State) {
		case "", ask.StatePending, ask.StateResolved:
		default:
			add("/state", ask.FaultNotOneOf, clip(q.State), []string{string(ask.StatePending), string(ask.StateResolved)})
		}
		switch {
		case q.Limit < 0 || q.Limit > MaxPage:
			add("/limit", ask.FaultOutOfRange, q.Limit, 1, MaxPage)
		case q.Limit == 0:
			q.Limit = defaultPage
		}
		return f
	})
}

// ListItem is one ask of a page, for encoding.
type ListItem struct {
	Record  ask.Record
	RawAsk  json.RawMessage // replaces Record.Ask
	Outcome json.RawMessage // replaces Record.Outcome
}

// Record returns the status as a record.
func (s *StatusReply) Record() ask.Record {
	r := ask.Record{State: s.State, AskedAt: s.AskedAt, Life: s.Life, Seq: s.Seq, Outcome: s.Outcome, Receipts: s.Receipts, Votes: s.Votes, Escalated: s.Escalated, Raw: s.Raw}
	if s.Ask != nil {
		r.Ask = *s.Ask
	}
	if r.Ask.ID == "" {
		r.Ask.ID, r.Ask.Tenant, r.Ask.Session, r.Ask.Deadline = s.Key.ID, s.Key.Tenant, s.Key.Session, s.Deadline
	}
	return r
}
