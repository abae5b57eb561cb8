package cloudevent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/nats-io/nats.go"
)

// Mode is how a message carries a CloudEvent.
type Mode int

// The modes. A request without an event has no mode and gets a structured
// reply.
const (
	Structured Mode = iota
	Binary
)

const (
	headerPrefix    = "ce-"
	headerType      = "Content-Type"
	typeStructured  = "application/cloudevents"
	typeStructJSON  = "application/cloudevents+json"
	dataContentType = "datacontenttype"
)

// ErrNoEvent means that a message carries no CloudEvent.
var ErrNoEvent = errors.New("no CloudEvent")

// Msg writes an event into a new message (the CloudEvents NATS binding).
func (e Event) Msg(mode Mode) (*nats.Msg, error) {
	if mode == Structured {
		data, err := wire.Marshal(e.Build())
		if err != nil {
			return nil, fmt.Errorf("write event: %w", err)
		}
		return &nats.Msg{Header: nats.Header{headerType: {typeStructJSON}}, Data: data}, nil
	}
	return e.binary(maxHeaders), nil
}

// MsgToStore is [Event.Msg] in binary mode, with room for JetStream's headers.
func (e Event) MsgToStore() *nats.Msg { return e.binary(maxHeaders + storeHeaders) }

// binary writes an event in binary mode, with room for that many headers.
func (e Event) binary(room int) *nats.Msg {
	h := make(nats.Header, room)
	values := make([]string, 0, maxHeaders) // of all headers, in one allocation
	if e.ID == "" {
		e.ID = NewID()
	}
	set := func(name, value string) {
		if value != "" {
			values = append(values, percentEncode(value))
			h[name] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	set("ce-specversion", event.CloudEventsVersionV1)
	set("ce-id", e.ID)
	set("ce-source", e.Source)
	set("ce-type", e.Type)
	set("ce-subject", e.Key.ID)
	if !e.Time.IsZero() {
		set("ce-time", e.Time.UTC().Format(time.RFC3339Nano))
	}
	if e.Key.Tenant != "" {
		set("ce-partitionkey", e.Key.Tenant+"/"+e.Key.Session)
	}
	set("ce-traceparent", e.Trace)
	if e.By != nil && e.By.Principal != "" {
		set("ce-authtype", "user")
		set("ce-authid", e.By.Principal)
	}
	if !e.Expiry.IsZero() {
		set("ce-expirytime", e.Expiry.UTC().Format(time.RFC3339Nano))
	}
	// The binding uses ce-datacontenttype; readers that follow the HTTP binding
	// use Content-Type. Both are set to the same value.
	set("ce-datacontenttype", TypeJSON)
	set(headerType, TypeJSON)
	return &nats.Msg{Header: h, Data: e.Data}
}

// How many headers an event has at most, and how many more the ledger adds. A
// map of 14 is half as large as one of 15.
const (
	maxHeaders   = 14
	storeHeaders = 10
)

// FromMsg reads the event in a message, in either mode. The error is
// [ErrNoEvent] if there is none, otherwise an [*ask.Error] with
// [ask.ErrInvalid] or [ask.ErrTooLarge].
func FromMsg(msg *nats.Msg) (event.Event, Mode, error) {
	if len(msg.Data) > ask.MaxEventBytes {
		return event.Event{}, modeOf(msg), ask.Refusal(ask.CodeTooLarge, ask.FaultTooManyBytes, "the_event", len(msg.Data), ask.MaxEventBytes)
	}
	return FromReply(msg)
}

// FromReply is [FromMsg] for messages from the broker or the ledger: an outcome
// with its ask may be larger than a request.
func FromReply(msg *nats.Msg) (event.Event, Mode, error) {
	headers := ceHeaders(msg.Header)
	switch {
	case isStructured(msg.Header), len(headers) == 0 && bytes.HasPrefix(bytes.TrimLeft(msg.Data, " \t\r\n"), []byte("{")):
		ev, err := readStructured(msg.Data)
		return ev, Structured, err
	case len(headers) > 0:
		ev, err := readBinary(headers, msg)
		return ev, Binary, err
	case len(msg.Data) == 0:
		return event.Event{}, Structured, ErrNoEvent
	default:
		return event.Event{}, Structured, notEvent("send one in structured mode (Content-Type: " + typeStructJSON + ") or with ce- headers")
	}
}

// Incoming holds the attributes of an event that askbus uses.
type Incoming struct {
	ID, Type, Subject, Trace string
	Time, Expiry             time.Time
	Data                     []byte
}

// Read is [FromReply] for callers that need only these attributes: requests,
// replies, and messages of the ledger.
func Read(msg *nats.Msg) (Incoming, Mode, error) {
	if in, ok := readPlain(msg); ok {
		return in, Binary, nil
	}
	ev, mode, err := FromReply(msg)
	in := Incoming{ev.ID(), ev.Type(), ev.Subject(), Trace(ev), ev.Time(), time.Time{}, ev.Data()}
	if expiry, ok := ev.Extensions()["expirytime"]; ok {
		in.Expiry, _ = types.ToTime(expiry) // only on askbus's own events
	}
	return in, mode, err
}

// readPlain reads an event in binary mode in the form of [Event.Msg], without
// building the CloudEvent. ok is false in case of doubt.
func readPlain(msg *nats.Msg) (Incoming, bool) {
	in := Incoming{Data: msg.Data}
	version, source := "", ""
	for name, values := range msg.Header {
		attribute, ours := strings.CutPrefix(name, headerPrefix)
		if !ours && strings.EqualFold(name[:min(len(name), len(headerPrefix))], headerPrefix) {
			return Incoming{}, false
		}
		if !ours && !strings.EqualFold(name, headerType) {
			continue
		}
		if len(values) != 1 || !plainText(values[0]) {
			return Incoming{}, false
		}
		v := values[0]
		switch {
		case !ours, attribute == dataContentType:
			if v != TypeJSON {
				return Incoming{}, false
			}
		case attribute == "specversion":
			version = v
		case attribute == "id":
			in.ID = v
		case attribute == "source":
			source = v
		case attribute == "type":
			in.Type = v
		case attribute == "subject":
			in.Subject = v
		case attribute == "traceparent":
			in.Trace = trace(v)
		case attribute == "time":
			at, err := time.Parse(time.RFC3339, v)
			if err != nil {
				return Incoming{}, false
			}
			in.Time = at
		case attribute == "expirytime":
			at, err := time.Parse(time.RFC3339, v)
			if err != nil {
				return Incoming{}, false
			}
			in.Expiry = at
		case attribute == "partitionkey", attribute == "authtype", attribute == "authid":
		default:
			return Incoming{}, false
		}
	}
	return in, version == event.CloudEventsVersionV1 && in.ID != "" && in.Type != "" && plainPath(source)
}

// plainText reports whether a header's value needs no decoding.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '%' {
			return false
		}
	}
	return s != ""
}

// plainPath reports whether a source is a path like askbus's own, and so a URI
// reference.
func plainPath(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '/', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//")
}

func modeOf(msg *nats.Msg) Mode {
	if !isStructured(msg.Header) && len(ceHeaders(msg.Header)) > 0 {
		return Binary
	}
	return Structured
}

func readStructured(data []byte) (event.Event, error) {
	if !json.Valid(data) {
		var v any
		return event.Event{}, notEvent("it is not valid JSON: " + json.Unmarshal(data, &v).Error())
	}
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(data, &attributes); err != nil {
		return event.Event{}, notEvent("it is no JSON object")
	}
	if err := invalidAttributes(structuredFaults(attributes)); err != nil {
		return event.Event{}, err
	}
	if raw := attributes["data_base64"]; raw != nil {
		// The SDK does not read it after a space or with escapes, which are JSON: Python writes the one and PHP the other.
		var text string
		err := json.Unmarshal(raw, &text)
		if err == nil {
			attributes["data_base64"] = strconv.AppendQuote(nil, text) // base64 has nothing to escape
			data, err = json.Marshal(attributes)
		}
		if err != nil {
			return event.Event{}, notEvent(err.Error())
		}
	}
	var ev event.Event
	if err := json.Unmarshal(data, &ev); err != nil {
		return event.Event{}, notEvent(err.Error())
	}
	return ev, checkEvent(ev, "/")
}

func readBinary(headers map[string][]string, msg *nats.Msg) (event.Event, error) {
	for name, values := range headers {
		if len(values) > 1 {
			return event.Event{}, invalidAttributes([]ask.Fault{ask.NewFault("", ask.FaultHeaderTwice, headerPrefix+ask.Clip(name, 40))})
		}
	}
	version := ""
	if len(headers["specversion"]) > 0 {
		version = headers["specversion"][0]
	}
	if version != event.CloudEventsVersionV1 {
		return event.Event{}, invalidAttributes([]ask.Fault{badHeader("specversion", ask.Clip(version, 20))})
	}
	ev := event.New(version)
	for name, values := range headers {
		value := values[0]
		switch name {
		case "specversion":
		case "id":
			ev.SetID(value)
		case "source":
			ev.SetSource(value)
		case "type":
			ev.SetType(value)
		case "subject":
			ev.SetSubject(value)
		case "dataschema":
			ev.SetDataSchema(value)
		case dataContentType:
			ev.SetDataContentType(value)
		case "time":
			t, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return event.Event{}, invalidAttributes([]ask.Fault{badHeader("time", ask.Clip(value, 40))})
			}
			ev.SetTime(t)
		default:
			ev.SetExtension(name, value)
		}
	}
	if ev.DataContentType() == "" {
		ct := cmp.Or(strings.TrimSpace(header(msg.Header, headerType)), TypeJSON)
		ev.SetDataContentType(ct)
	}
	ev.DataEncoded = msg.Data
	return ev, checkEvent(ev, "")
}

func notEvent(why string) error {
	return ask.Refusal(ask.CodeInvalid, ask.FaultNotEvent, why)
}

// ceHeaders returns the ce- headers by lower-case attribute name,
// percent-decoded. It keeps all values of an attribute.
func ceHeaders(h nats.Header) map[string][]string {
	var out map[string][]string
	for name, values := range h {
		if len(name) > len(headerPrefix) && strings.EqualFold(name[:len(headerPrefix)], headerPrefix) && len(values) > 0 {
			if out == nil {
				out = map[string][]string{}
			}
			attribute := strings.ToLower(name[len(headerPrefix):])
			for _, v := range values {
				out[attribute] = append(out[attribute], percentDecode(v))
			}
		}
	}
	return out
}

func isStructured(h nats.Header) bool {
	ct := strings.ToLower(header(h, headerType))
	return strings.HasPrefix(ct, typeStructured)
}

// header looks up a header, ignoring case.
func header(h nats.Header, name string) string {
	for n, values := range h {
		if strings.EqualFold(n, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// percentEncode encodes what the binding requires: everything but printable
// ASCII, and space, quote and percent.
func percentEncode(s string) string {
	const digits = "0123456789ABCDEF"
	plain := func(c byte) bool { return c > ' ' && c <= '~' && c != '"' && c != '%' }
	n := 0
	for n < len(s) && plain(s[n]) {
		n++
	}
	if n == len(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// percentDecode reverses percentEncode; invalid escapes stay as they are.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo)) //nolint:gosec // two hex digits
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
