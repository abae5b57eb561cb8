package cloudevent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Headers of askbus in the ledger. At the deadline the server copies them from
// the question to its outcome.
const (
	HeaderLife   = "Askbus-Life"   // the life of the ask
	HeaderDigest = "Askbus-Digest" // of the question, on an outcome: compared when the id is asked again
	HeaderAsked  = "Askbus-Asked"  // the id of the asking event, on an outcome; see [AskedBy]
)

// Entry is a message of the ledger, or a republished one, split but not
// decoded. A list returns much of it unchanged.
type Entry struct {
	Key      ask.Key
	Life     string
	EventID  string // of the asking event
	Trace    string
	At       time.Time // of a question: when it was asked
	Deadline time.Time // of a question
	Digest   string
	Ask      json.RawMessage // of a question
	Will     json.RawMessage // of a question: the outcome if it is on an outcome's subject
	Outcome  json.RawMessage // with its ask; nil for a question
}

// Open splits the headers and parts of a message on the subject of a question
// or an outcome.
func Open(msg *nats.Msg, k ask.Key) (Entry, error) {
	in, _, err := Read(msg)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Key: k, Life: token(msg, HeaderLife), EventID: in.ID, Trace: in.Trace, At: in.Time}
	switch in.Type {
	case TypeAsked:
		s, err := wire.OpenStored(in.Data)
		if err != nil {
			return Entry{}, err
		}
		e.Ask, e.Will, e.Digest, e.Deadline = s.Ask, s.OnDeadline, s.Digest, in.Expiry
		return e, nil
	case TypeResolved:
		e.EventID = askedBy(msg)
		e.Outcome, e.Digest = in.Data, msg.Header.Get(HeaderDigest)
		return e, nil
	}
	return Entry{}, fmt.Errorf("event type %.80q: %w", in.Type, ask.ErrUnsupported)
}

func token(msg *nats.Msg, name string) string {
	if v := msg.Header[name]; len(v) == 1 && ask.ValidToken(v[0]) {
		return v[0]
	}
	return ""
}

// AskedBy returns the value of [HeaderAsked] for an event id, which may contain
// anything.
func AskedBy(eventID string) string { return url.QueryEscape(eventID) }

func askedBy(msg *nats.Msg) string {
	id, err := url.QueryUnescape(msg.Header.Get(HeaderAsked))
	if err != nil {
		return ""
	}
	return id
}

// ReadQuestion reads the state of a pending ask from a message on a question's
// subject, stored or republished.
func ReadQuestion(msg *nats.Msg, k ask.Key) (lifecycle.State, error) {
	return readQuestion(msg, k, (*Entry).Question)
}

// ReadAsked is [ReadQuestion] without the Will, which nobody is shown.
func ReadAsked(msg *nats.Msg, k ask.Key) (lifecycle.State, error) {
	return readQuestion(msg, k, (*Entry).Asked)
}

func readQuestion(msg *nats.Msg, k ask.Key, decode func(*Entry) (lifecycle.State, error)) (lifecycle.State, error) {
	e, err := Open(msg, k)
	if err == nil && e.Outcome != nil {
		err = fmt.Errorf("an outcome: %w", ask.ErrUnsupported)
	}
	var s lifecycle.State
	if err == nil {
		s, err = decode(&e)
	}
	if err != nil {
		return lifecycle.State{}, fmt.Errorf("read question %s: %w", k, err)
	}
	return s, nil
}

// ReadOutcome reads the state of an ended ask from a message on an outcome's
// subject, stored or republished. An event of the question's type there MEANS
// that its on_deadline is the outcome: the server copied the question at the
// deadline. Every reader uses this function.
func ReadOutcome(msg *nats.Msg, k ask.Key) (lifecycle.State, error) {
	e, err := Open(msg, k)
	var s lifecycle.State
	if err == nil {
		s, err = e.Ended()
	}
	if err != nil {
		return lifecycle.State{}, fmt.Errorf("read outcome %s: %w", k, err)
	}
	return s, nil
}

// Question decodes a question: a pending ask.
func (e *Entry) Question() (lifecycle.State, error) {
	s, err := e.Asked()
	if err != nil {
		return lifecycle.State{}, err
	}
	s.Will, err = wire.DecodeOutcome(e.Will)
	return s, err
}

// Asked is [Entry.Question] without the Will.
func (e *Entry) Asked() (lifecycle.State, error) {
	a, err := wire.DecodeStoredAsk(e.Ask, e.Key.InSession())
	if err != nil {
		return lifecycle.State{}, err
	}
	s := e.state(a)
	s.AskedAt, s.RawAsk = e.At, e.Ask
	s.Will.Votes, s.Will.Escalated = e.Progress()
	return s, nil
}

// Progress returns the votes on a pending ask, and how far it has been escalated.
// Both are in its will, so that an expiry has them.
func (e *Entry) Progress() ([]ask.Vote, *ask.Escalated) {
	if !bytes.Contains(e.Will, []byte(`"votes":[`)) && !bytes.Contains(e.Will, []byte(`"escalated":{`)) {
		return nil, nil
	}
	will, err := wire.DecodeOutcome(e.Will)
	if err != nil {
		return nil, nil
	}
	return will.Votes, will.Escalated
}

// Ended decodes a message on an outcome's subject.
func (e *Entry) Ended() (lifecycle.State, error) {
	if e.Outcome == nil {
		s, err := e.Question()
		if err != nil {
			return lifecycle.State{}, err
		}
		return lifecycle.Apply(s, lifecycle.Ended{Outcome: s.Will, Timed: true}), nil
	}
	o, err := wire.DecodeOutcome(e.Outcome)
	if err != nil {
		return lifecycle.State{}, err
	}
	if o.Ask == nil {
		return lifecycle.State{}, fmt.Errorf("an outcome without its ask: %w", ask.ErrUnsupported)
	}
	s := e.state(o.Ask)
	s.AskedAt = o.At.Add(-o.Waited)
	return lifecycle.Apply(s, lifecycle.Ended{Outcome: o, Raw: e.Outcome}), nil
}

func (e *Entry) state(a *ask.Ask) lifecycle.State {
	s := lifecycle.State{Life: e.Life, Ask: a, Deadline: a.Deadline, EventID: e.EventID, Trace: e.Trace}
	if e.Digest != "" {
		s.Digests = []string{e.Digest}
	}
	return s
}

// QuestionEvent returns the event that the ledger stores for a pending ask.
func QuestionEvent(s *lifecycle.State) (Event, error) {
	will, err := wire.EncodeOutcome(&s.Will, nil)
	if err != nil {
		return Event{}, err
	}
	k := s.Ask.Key()
	return Event{
		ID: s.EventID, Source: AgentSource(k.Tenant, k.Session), Type: TypeAsked, Key: k, Time: s.AskedAt, Trace: s.Trace, Expiry: s.Deadline,
		Data: wire.EncodeStored(wire.Stored{Ask: s.RawAsk, OnDeadline: will, Digest: s.Digest()}),
	}, nil
}

// EndEvent returns the event of an ask's outcome, as it is stored in the ledger
// and sent to clients.
func EndEvent(s *lifecycle.State) (Event, error) {
	data := s.RawEnd
	if data == nil {
		var err error
		if data, err = wire.EncodeOutcome(s.End, s.RawAsk); err != nil {
			return Event{}, err
		}
	}
	return OutcomeEvent(s.Trace, s.End, data), nil
}

// AskJSON returns the JSON of a known ask as it was stored: it may have fields
// that this version does not know.
func AskJSON(s *lifecycle.State) json.RawMessage {
	if s.RawAsk == nil && s.RawEnd != nil {
		return wire.OutcomeAsk(s.RawEnd)
	}
	return s.RawAsk
}
