package cloudevent

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/cloudevents/sdk-go/v2/event"
)

// wanted says what to give for each attribute that an event needs, or that has
// a form, as a term of a fault.
//
//nolint:gochecknoglobals // a table
var wanted = map[string]string{
	"specversion":   "event_version",
	"id":            "event_id",
	"source":        "event_source",
	"type":          "event_type",
	"subject":       "event_about",
	"time":          "event_time",
	"dataschema":    "event_schema",
	dataContentType: "event_content",
	"data_base64":   "event_base64",
}

// want returns what to give for an attribute, also for those of others.
func want(name string) string { return cmp.Or(wanted[name], "event_extension") }

// structuredFaults returns what is wrong with the attributes of an event in
// structured mode, all at once, each with its JSON pointer.
func structuredFaults(attributes map[string]json.RawMessage) []ask.Fault {
	var faults []ask.Fault
	fault := func(name string, code ask.FaultCode, args ...any) {
		faults = append(faults, ask.NewFault("/"+name, code, args...))
	}
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if raw := attributes[name]; raw == nil || string(raw) == "null" || string(raw) == `""` {
			fault(name, ask.FaultMissing, want(name))
			delete(attributes, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		raw := attributes[name]
		var text string
		isText := json.Unmarshal(raw, &text) == nil
		switch {
		case !isName(name):
			fault(name, ask.FaultNotAttribute, ask.Clip(name, 40))
		case name == "data" || string(raw) == "null":
		case !isText && (wanted[name] != "" || raw[0] == '{' || raw[0] == '['):
			fault(name, ask.FaultNotText, want(name))
		case name == "specversion" && text != event.CloudEventsVersionV1:
			fault(name, ask.FaultWrongValue, ask.Clip(text, 20), want(name))
		case name == "source" && !isReference(text):
			fault(name, ask.FaultWrongValue, ask.Clip(text, 80), want(name))
		case !isText && raw[0] != 't' && raw[0] != 'f' && !isInteger(raw):
			fault(name, ask.FaultWrongValue, ask.Clip(string(raw), 40), want(name))
		case name == "time" && !isTime(text):
			fault(name, ask.FaultWrongValue, ask.Clip(text, 40), want(name))
		case name == dataContentType && attributes["data"] != nil && string(attributes["data"]) != "null" && !isJSON(text):
			fault(name, ask.FaultWrongValue, ask.Clip(text, 80), want(name))
		case name == "data_base64" && attributes["data"] != nil:
			fault(name, ask.FaultGivenTogether, "data")
		case name == "data_base64" && !isBase64(text):
			fault(name, ask.FaultNotBase64)
		}
	}
	return faults
}

// invalidAttributes returns the refusal of an event, or nil if there are no
// faults. Its sentence names the first: callers on NATS may read only that.
func invalidAttributes(faults []ask.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &ask.Error{Code: ask.CodeInvalid, Detail: "not a CloudEvent of askbus: " + strings.TrimPrefix(faults[0].String(), "/"), Faults: faults}
}

// badHeader returns the fault of a header of an event in binary mode, which no
// JSON pointer reaches.
func badHeader(name, given string) ask.Fault {
	return ask.NewFault("", ask.FaultBadParameter, headerPrefix+name, given, want(name))
}

func isName(s string) bool {
	return s == "data_base64" || s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

func isJSON(mediaType string) bool {
	ct, _, err := mime.ParseMediaType(mediaType)
	return err == nil && (ct == TypeJSON || strings.HasSuffix(ct, "+json") || ct == "text/json")
}

func isReference(s string) bool {
	_, err := url.Parse(s)
	return err == nil
}

func isInteger(raw json.RawMessage) bool {
	var n int32
	return json.Unmarshal(raw, &n) == nil
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// checkEvent checks what the library has read. at is "/" if the attributes are
// members of a JSON object, and empty if they are headers.
func checkEvent(ev event.Event, at string) error {
	var faults []ask.Fault
	fault := func(name, given string, code ask.FaultCode, args ...any) {
		f := badHeader(name, given)
		if at != "" {
			f = ask.NewFault(at+name, code, args...)
		}
		faults = append(faults, f)
	}
	if wrong, ok := errors.AsType[event.ValidationError](ev.Validate()); ok {
		for _, name := range slices.Sorted(maps.Keys(wrong)) {
			if attribute, ok := strings.CutPrefix(name, "extension:"); ok { // only in headers: structuredFaults has refused the others
				faults = append(faults, ask.NewFault("", ask.FaultNotAttribute, headerPrefix+ask.Clip(attribute, 40)))
				continue
			}
			if given := map[string]string{"id": ev.ID(), "source": ev.Source(), "type": ev.Type()}; ev.FieldErrors[name] == nil && given[name] == "" && wanted[name] != "" {
				fault(name, "", ask.FaultMissing, want(name))
				continue
			}
			why := strings.Join(strings.Fields(wrong[name].Error()), " ")
			fault(name, why, ask.FaultBadAttribute, why, want(name))
		}
	}
	if ev.DataContentType() == "" || len(ev.Data()) == 0 {
		return invalidAttributes(faults)
	}
	if !isJSON(ev.DataContentType()) {
		given := ask.Clip(ev.DataContentType(), 80)
		fault(dataContentType, given, ask.FaultWrongValue, given, want(dataContentType))
	} else if e, refused := errors.AsType[*ask.Error](wire.CheckCharset(ev.DataContentType())); refused {
		f := e.Faults[0]
		if at != "" {
			f.Pointer = at + dataContentType
		}
		faults = append(faults, f)
	}
	return invalidAttributes(faults)
}
