package cloudevent

import (
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/oklog/ulid/v2"
)

// The event types.
const (
	TypeAsked     = "dev.askbus.ask.requested.v1"
	TypeStatus    = "dev.askbus.ask.status.v1"
	TypeResolved  = "dev.askbus.ask.resolved.v1"
	TypeWithdrawn = "dev.askbus.ask.withdrawn.v1"
	TypeAborted   = "dev.askbus.ask.aborted.v1"
	TypePresented = "dev.askbus.ask.presented.v1"
	TypeAnswered  = "dev.askbus.answer.given.v1"
	TypeDeclined  = "dev.askbus.answer.declined.v1"
	TypeUnvoted   = "dev.askbus.vote.withdrawn.v1"
)

// TypeJSON is the content type of all data.
const TypeJSON = "application/json"

// BrokerSource is the source of the broker's own events.
const BrokerSource = "/askbus/broker"

// AgentSource returns the source of a session's agent.
func AgentSource(tenant, session string) string { return "/askbus/" + tenant + "/" + session }

// AgentOf parses a source from [AgentSource].
func AgentOf(source string) (tenant, session string, ok bool) {
	rest, ours := strings.CutPrefix(source, "/askbus/")
	tenant, session, ok = strings.Cut(rest, "/")
	return tenant, session, ours && ok && ask.ValidToken(tenant) && ask.ValidToken(session)
}

// ResponderSource returns the source of a responder type.
func ResponderSource(typ string) string { return "/askbus/responder/" + typ }

// NewID returns a new event, ask or answer id: a ULID.
func NewID() string { return ulid.Make().String() }

// Event is a CloudEvent of askbus with JSON data. Trace is its traceparent.
type Event struct {
	ID, Source, Type string
	Key              ask.Key
	Time             time.Time
	Trace            string
	By               *ask.By   // authid and authtype: the person who answered
	Expiry           time.Time // expirytime: of a question only
	Data             []byte
}

// Build returns the CloudEvent.
func (e Event) Build() event.Event {
	ev := event.New(event.CloudEventsVersionV1)
	ev.SetID(e.ID)
	if e.ID == "" {
		ev.SetID(NewID())
	}
	ev.SetSource(e.Source)
	ev.SetType(e.Type)
	if e.Key.ID != "" {
		ev.SetSubject(e.Key.ID)
	}
	if !e.Time.IsZero() {
		ev.SetTime(e.Time.UTC())
	}
	if e.Key.Tenant != "" {
		ev.SetExtension("partitionkey", e.Key.Tenant+"/"+e.Key.Session)
	}
	if e.Trace != "" {
		ev.SetExtension("traceparent", e.Trace)
	}
	if e.By != nil && e.By.Principal != "" {
		ev.SetExtension("authtype", "user")
		ev.SetExtension("authid", e.By.Principal)
	}
	if !e.Expiry.IsZero() {
		ev.SetExtension("expirytime", e.Expiry.UTC())
	}
	ev.SetDataContentType(TypeJSON)
	ev.DataEncoded = e.Data
	return ev
}

// OutcomeID derives the id of an outcome's event from its ask and the time of
// its end, because foreign agents choose their event ids freely, and ids of
// asks are reused.
func OutcomeID(o *ask.Outcome) string {
	return o.Key().String() + "/" + strconv.FormatInt(o.At.UnixMilli(), 10)
}

// OutcomeEvent returns the event that says how an ask ended.
func OutcomeEvent(trace string, o *ask.Outcome, data []byte) Event {
	source := BrokerSource
	switch {
	case o.Status == ask.StatusWithdrawn:
		source = AgentSource(o.Tenant, o.Session)
	case o.By != nil && o.By.Responder != "":
		source = ResponderSource(o.By.Responder)
	}
	return Event{
		ID: OutcomeID(o), Source: source, Type: TypeResolved, Key: o.Key(), Time: o.At, Trace: trace, By: o.By, Data: data,
	}
}

// Trace returns the traceparent extension of an event, if it has a plausible one.
func Trace(ev event.Event) string {
	s, _ := ev.Extensions()["traceparent"].(string)
	return trace(s)
}

func trace(s string) string {
	if len(s) > 128 || strings.ContainsAny(s, "\r\n") {
		return ""
	}
	return s
}
