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
	h, err := readHead(msg)
	if err != nil {
		return Question{}, err
	}
	if h.typ != TypeAsked {
		return Question{}, fmt.Errorf("read question %s: event type %.80q: %w", k, h.typ, ask.ErrUnsupported)
	}
	s, err := DecodeStored(h.data, k.Tenant, k.Session)
	return Question{Stored: s, EventID: h.id, Trace: h.trace, AskedAt: h.time}, err
}

// ReadReply reads the type and the data of the event in a broker's reply.
func ReadReply(msg *nats.Msg) (typ string, data []byte, err error) {
	h, err := readHead(msg)
	return h.typ, h.data, err
}

// head is what we need of an event's attributes.
type head struct {
	typ, id, trace string
	time           time.Time
	data           []byte
}

// readHead reads the attributes of an event that a broker vouches for. Those
// in binary mode, as we write them, are read without making the whole event.
func readHead(msg *nats.Msg) (head, error) {
	attr := func(name string) string {
		if v := msg.Header[headerPrefix+name]; len(v) > 0 {
			return percentDecode(v[0])
		}
		return ""
	}
	at, err := time.Parse(time.RFC3339, attr("time"))
	if h := (head{attr("type"), attr("id"), trace(attr("traceparent")), at, msg.Data}); err == nil && h.typ != "" && h.id != "" && attr("specversion") == event.CloudEventsVersionV1 {
		return h, nil
	}
	ev, _, err := FromReply(msg)
	return head{ev.Type(), ev.ID(), Trace(ev), ev.Time(), ev.Data()}, err
}

// End is the outcome on an outcome's subject, with what its event needs.
type End struct {
	Outcome ask.Outcome
	rawAsk  json.RawMessage
	EventID string // of the outcome's event
	Trace   string
	Digest  string // empty when the outcome was written by resolve
	AskedAt time.Time
	JSON    json.RawMessage // of the outcome, when it is at hand: then Event need not encode it
}

// ReadOutcome reads a message that the ledger holds, or republished, on an
// outcome's subject. An event of the question's type there MEANS that its
// on_deadline is the outcome: the server copied the question at the deadline.
// Every reader goes through this one function.
func ReadOutcome(msg *nats.Msg, k ask.Key) (End, error) {
	h, err := readHead(msg)
	if err != nil {
		return End{}, err
	}
	switch h.typ {
	case TypeAsked:
		s, err := DecodeStored(h.data, k.Tenant, k.Session)
		if err != nil {
			return End{}, err
		}
		o := s.OnDeadline
		o.Ask = &s.Ask
		return End{Outcome: o, rawAsk: s.RawAsk, EventID: OutcomeID(h.id), Trace: h.trace, Digest: s.Digest, AskedAt: h.time}, nil
	case TypeResolved:
		o, err := DecodeOutcome(h.data)
		if err != nil {
			return End{}, err
		}
		return End{Outcome: o, EventID: h.id, Trace: h.trace, AskedAt: o.At.Add(-o.Waited), JSON: h.data}, nil
	}
	return End{}, fmt.Errorf("read outcome %s: event type %.80q: %w", k, h.typ, ask.ErrUnsupported)
}

// AskJSON is the ask's JSON as it was stored, or nil: it may say more than this
// build knows.
func (e End) AskJSON() json.RawMessage {
	if e.rawAsk != nil || e.JSON == nil {
		return e.rawAsk
	}
	var raw struct {
		Ask json.RawMessage `json:"ask"`
	}
	if unmarshal(e.JSON, &raw) != nil {
		return nil
	}
	return raw.Ask
}

// Event is the event that tells the outcome to the world.
func (e End) Event() (Event, error) {
	data := []byte(e.JSON)
	if data == nil {
		var err error
		if data, err = EncodeOutcome(&e.Outcome, e.rawAsk); err != nil {
			return Event{}, err
		}
	}
	out := OutcomeEvent("", e.Trace, &e.Outcome, data)
	out.ID = e.EventID
	return out, nil
}
