package cloudevent

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
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

// advice says what to give for each attribute that an event needs, or that has
// a form.
//
//nolint:gochecknoglobals // a table
var advice = map[string]string{
	"specversion":   `give "1.0"`,
	"id":            "give a text that names this event, such as a UUID; a repeated event keeps it",
	"source":        "give a URI reference that names the sender, such as /my-agent",
	"type":          "give the event's type, such as " + TypeAsked,
	"subject":       "give the id of the ask as a text, or leave it out",
	"time":          "give a time in RFC 3339, such as 2026-11-20T10:00:00Z, or leave it out",
	"dataschema":    "give an absolute URI, or leave it out",
	dataContentType: "use " + TypeJSON,
	"data_base64":   "give the data in base64, or use data",
}

// structuredFaults returns what is wrong with the attributes of an event in
// structured mode, all at once, each with its JSON pointer.
func structuredFaults(attributes map[string]json.RawMessage) []ask.Fault {
	var faults []ask.Fault
	fault := func(name, what string) {
		help := advice[name]
		if help == "" {
			help = "give a text, an integer or a boolean"
		}
		faults = append(faults, ask.Fault{Pointer: "/" + name, Message: what + "; " + help})
	}
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if raw := attributes[name]; raw == nil || string(raw) == "null" || string(raw) == `""` {
			fault(name, "is missing")
			delete(attributes, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		raw := attributes[name]
		var text string
		isText := json.Unmarshal(raw, &text) == nil
		switch {
		case !isName(name):
			faults = append(faults, ask.Fault{Pointer: "/" + name, Message: notAName})
		case name == "data" || string(raw) == "null":
		case !isText && (advice[name] != "" || raw[0] == '{' || raw[0] == '['):
			fault(name, "is not a text")
		case name == "specversion" && text != event.CloudEventsVersionV1:
			fault(name, fmt.Sprintf("is %.20q", text))
		case name == "source" && !isReference(text):
			fault(name, fmt.Sprintf("is %.80q", text))
		case !isText && raw[0] != 't' && raw[0] != 'f' && !isInteger(raw):
			fault(name, fmt.Sprintf("is the number %.40s, which is no integer of 32 bits", raw))
		case name == "time" && !isTime(text):
			fault(name, fmt.Sprintf("is %.40q", text))
		case name == "data_base64" && attributes["data"] != nil:
			fault(name, "is given beside data")
		case name == "data_base64" && !isBase64(text):
			fault(name, "is not base64")
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

// notAName says what is wrong with an attribute whose name no CloudEvent may have.
const notAName = "is no name of an attribute; use a to z and 0 to 9"

func isName(s string) bool {
	return s == "data_base64" || s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
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
	fault := func(name, what string) {
		f := ask.Fault{Message: what}
		if help := advice[name]; help != "" {
			f.Message += "; " + help
		}
		if at == "" {
			f.Message = "header " + headerPrefix + name + " " + f.Message
		} else {
			f.Pointer = at + name
		}
		faults = append(faults, f)
	}
	if wrong, ok := errors.AsType[event.ValidationError](ev.Validate()); ok {
		for _, name := range slices.Sorted(maps.Keys(wrong)) {
			if attribute, ok := strings.CutPrefix(name, "extension:"); ok {
				fault(attribute, notAName)
				continue
			}
			what := "is invalid (" + strings.Join(strings.Fields(wrong[name].Error()), " ") + ")"
			if missing := map[string]string{"id": ev.ID(), "source": ev.Source(), "type": ev.Type()}; ev.FieldErrors[name] == nil && missing[name] == "" && advice[name] != "" {
				what = "is missing"
			}
			fault(name, what)
		}
	}
	if ev.DataContentType() == "" || len(ev.Data()) == 0 {
		return invalidAttributes(faults)
	}
	ct, _, err := mime.ParseMediaType(ev.DataContentType())
	if err != nil || ct != TypeJSON && !strings.HasSuffix(ct, "+json") && ct != "text/json" {
		fault(dataContentType, fmt.Sprintf("is %.80q", ev.DataContentType()))
	} else if err := wire.CheckCharset(ev.DataContentType()); err != nil {
		fault(dataContentType, err.Error())
	}
	return invalidAttributes(faults)
}
