package cloudevent

import (
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
)

// ToMsg writes any event into a new message, for comparison with Event.Msg and
// FromMsg.
func ToMsg(ev event.Event, mode Mode) (*nats.Msg, error) {
	msg := &nats.Msg{Header: nats.Header{}}
	if mode == Structured {
		data, err := wire.Marshal(ev)
		if err != nil {
			return nil, fmt.Errorf("write event: %w", err)
		}
		msg.Header.Set(headerType, typeStructJSON)
		msg.Data = data
		return msg, nil
	}
	set := func(name, value string) { msg.Header[headerPrefix+name] = []string{percentEncode(value)} }
	set("specversion", ev.SpecVersion())
	set("id", ev.ID())
	set("source", ev.Source())
	set("type", ev.Type())
	if s := ev.Subject(); s != "" {
		set("subject", s)
	}
	if t := ev.Time(); !t.IsZero() {
		set("time", t.UTC().Format(time.RFC3339Nano))
	}
	for name, value := range ev.Extensions() {
		s, err := extension(value)
		if err != nil {
			return nil, fmt.Errorf("write event: extension %s: %w", name, err)
		}
		set(name, s)
	}
	if ct := ev.DataContentType(); ct != "" {
		// The binding uses ce-datacontenttype; readers that follow the HTTP
		// binding use Content-Type. Both are set to the same value.
		set(dataContentType, ct)
		msg.Header.Set(headerType, ct)
	}
	msg.Data = ev.Data()
	return msg, nil
}

func extension(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case fmt.Stringer:
		return v.String(), nil
	case bool, int32, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	default:
		return "", fmt.Errorf("has type %T", v)
	}
}
