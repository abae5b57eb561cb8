package hostcall

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// verdict is the response to a host's dialog or an SDK's callback.
type verdict struct {
	Behavior string          `json:"behavior"`
	Message  string          `json:"message,omitempty"`
	Updated  json.RawMessage `json:"updatedInput,omitempty"`
	// Of a permission:
	Permissions json.RawMessage `json:"updatedPermissions,omitempty"`
	Interrupt   bool            `json:"interrupt,omitempty"`
}

// member is a field of an object; members keep their order.
type member struct {
	key string
	raw json.RawMessage
}

// read decodes the ask of a call, and returns the tool's input as given.
func read(body []byte, call []member) (a ask.Ask, warnings []dialect.Warning, input []member, err error) {
	if a, warnings, err = dialect.Named("claude-code").Ask(body); err != nil {
		return ask.Ask{}, nil, nil, err
	}
	at := ""
	input = call
	if rawOf(call, "questions") == nil {
		for _, key := range []string{"tool_input", "toolInput", "input"} {
			if raw := rawOf(call, key); raw != nil {
				at = "/" + key
				input, err = members(raw)
				break
			}
		}
	}
	if err == nil && rawOf(input, "questions") == nil { // the dialect takes one question alone, which has no answers by text
		err = refusal(at+"/questions", ask.FaultMissingItems, 1, 4, "questions")
	}
	return a, warnings, input, err
}

// place returns where the host runs a call: the same question elsewhere is another one.
func place(call []member) []string { return []string{textOf(call, "cwd"), textOf(call, "agent_id")} }

// updatedInput returns the tool's input with the answers added. It is nil if there are none.
func updatedInput(a *ask.Ask, input []member, o *ask.Outcome) json.RawMessage {
	var out struct {
		Answers     json.RawMessage            `json:"answers"`
		Annotations map[string]json.RawMessage `json:"annotations"`
	}
	if err := json.Unmarshal(dialect.Named("claude-code").Answer(a, o).Body, &out); err != nil {
		return nil
	}
	answered, err := members(out.Answers)
	responded := o.Response != "" && o.Status == ask.StatusAnswered
	if err != nil || len(answered) == 0 && !responded {
		return nil
	}
	var updated []member
	for _, m := range input {
		if m.key != "answers" && m.key != "annotations" && m.key != "response" {
			updated = append(updated, m)
		}
	}
	updated = append(updated, member{"answers", out.Answers})
	if notes := annotations(a, o, answered, out.Annotations); len(notes) > 0 {
		updated = append(updated, member{"annotations", join(notes)})
	}
	if responded {
		updated = append(updated, member{"response", encode(o.Response)})
	}
	return join(updated)
}

// annotations returns those of the tool's output. Only here does the model learn that answers are
// not a human's or cancel the ask; so they are under our own name, which nobody can mistake for the
// person's note.
func annotations(a *ask.Ask, o *ask.Outcome, answered []member, given map[string]json.RawMessage) []member {
	var all []member
	human := o.Status == ask.StatusAnswered && o.Source != ask.SourcePolicy
	for _, m := range answered {
		var note struct {
			Preview string `json:"preview,omitempty"`
			Notes   string `json:"notes,omitempty"`
		}
		if raw := given[m.key]; raw != nil && json.Unmarshal(raw, &note) != nil {
			continue
		}
		if !human {
			note.Notes = strings.TrimSpace(note.Notes + "\n[askbus] " + ending(a, o))
		}
		if note.Preview != "" || note.Notes != "" {
			all = append(all, member{m.key, encode(note)})
		}
	}
	for _, key := range slices.Sorted(func(yield func(string) bool) { // notes on what was not answered
		for key := range given {
			if rawOf(answered, key) == nil && !yield(key) {
				return
			}
		}
	}) {
		all = append(all, member{key, given[key]})
	}
	return all
}

// ending describes how an ask ended.
func ending(a *ask.Ask, o *ask.Outcome) string {
	text := dialect.Report(a, o)
	if o.Status == ask.StatusCancelled && o.CancelledBy == nil {
		return text // the reason may have several lines
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// members splits an object into its fields, in order; of duplicate keys the last counts.
func members(body []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, refusal("", ask.FaultNotObject)
	}
	all := []member{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(m member) bool { return m.key == key }); i >= 0 {
			all[i].raw = raw
		} else {
			all = append(all, member{key, raw})
		}
	}
	return all, nil
}

// rawOf returns a field that exists and is not null.
func rawOf(all []member, key string) json.RawMessage {
	for _, m := range all {
		if m.key == key && string(m.raw) != "null" {
			return m.raw
		}
	}
	return nil
}

func textOf(all []member, key string) string {
	var s string
	if raw := rawOf(all, key); raw != nil && json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func objectWith(raw []byte, keys ...string) bool {
	all, _ := members(raw) // not an object: none
	return slices.ContainsFunc(keys, func(key string) bool { return rawOf(all, key) != nil })
}

func join(all []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(m.key))
		b.WriteByte(':')
		b.Write(encode(m.raw))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encode encodes JSON without HTML escaping. Every value in this package can be encoded.
func encode(v any) []byte {
	b, err := wire.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return bytes.ToValidUTF8(b, []byte("\ufffd"))
}

// noObject refuses what should be an object.
func noObject(pointer string, raw json.RawMessage) error {
	if raw == nil {
		return refusal(pointer, ask.FaultMissing, "object")
	}
	return refusal(pointer, ask.FaultNotObject)
}

func refusal(pointer string, code ask.FaultCode, args ...any) error {
	return ask.InvalidError("claude-code request", []ask.Fault{ask.NewFault(pointer, code, args...)})
}
