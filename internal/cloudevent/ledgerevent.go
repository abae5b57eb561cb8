package cloudevent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
)

// Question is a question event of the ledger, as it is stored and republished.
type Question struct {
	Stored
	EventID string
	Trace   string
	AskedAt time.Time
}

// ReadQuestion reads a message that the ledger holds, or republished, on a
// question's subject.
func ReadQuestion(msg *nats.Msg, k ask.Key) (Question, error) {
	ev, _, err := FromReply(msg)
	if err != nil {
		return Question{}, err
	}
	if ev.Type() != TypeAsked {
		return Question{}, fmt.Errorf("read question %s: event type %.80q: %w", k, ev.Type(), ask.ErrUnsupported)
	}
	s, err := DecodeStored(ev.Data(), k.Tenant, k.Session)
	return Question{Stored: s, EventID: ev.ID(), Trace: Trace(ev), AskedAt: ev.Time()}, err
}

// End is the outcome on an outcome's subject, with what its event needs.
type End struct {
	Outcome ask.Outcome
	RawAsk  json.RawMessage
	EventID string // of the outcome's event
	Trace   string
	Digest  string // empty when the outcome was written by resolve
	AskedAt time.Time
}

// ReadOutcome reads a message that the ledger holds, or republished, on an
// outcome's subject. An event of the question's type there MEANS that its
// on_deadline is the outcome: the server copied the question at the deadline.
// Every reader goes through this one function.
func ReadOutcome(msg *nats.Msg, k ask.Key) (End, error) {
	ev, _, err := FromReply(msg)
	if err != nil {
		return End{}, err
	}
	switch ev.Type() {
	case TypeAsked:
		s, err := DecodeStored(ev.Data(), k.Tenant, k.Session)
		if err != nil {
			return End{}, err
		}
		o := s.OnDeadline
		o.Ask = &s.Ask
		return End{o, s.RawAsk, OutcomeID(ev.ID()), Trace(ev), s.Digest, ev.Time()}, nil
	case TypeResolved:
		o, rawAsk, err := readOutcome(ev.Data())
		if err != nil {
			return End{}, err
		}
		return End{o, rawAsk, ev.ID(), Trace(ev), "", o.At.Add(-o.Waited)}, nil
	}
	return End{}, fmt.Errorf("read outcome %s: event type %.80q: %w", k, ev.Type(), ask.ErrUnsupported)
}

// Event is the event that tells the outcome to the world.
func (e End) Event() (event.Event, error) {
	data, err := EncodeOutcome(&e.Outcome, e.RawAsk)
	if err != nil {
		return event.Event{}, err
	}
	out := OutcomeEvent("", e.Trace, &e.Outcome, data)
	out.ID = e.EventID
	return out.Build(), nil
}
