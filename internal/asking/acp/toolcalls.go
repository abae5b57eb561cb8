package acp

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/askbus/askbus/internal/asking/relay"
)

// Limits of the remembered tool calls.
const (
	maxToolCalls = 128
	maxToolField = 64 << 10
)

// shownFields returns the fields of a tool call that describe it.
func shownFields() []string {
	return []string{"title", "name", "kind", "rawInput", "content", "locations"}
}

// toolCalls remembers running tool calls: a permission request may name one without repeating its
// description.
type toolCalls struct {
	mu    sync.Mutex
	known map[string]map[string]json.RawMessage
	order []string // oldest first
}

// update handles a session/update.
func (t *toolCalls) update(text json.RawMessage) {
	var p struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	if json.Unmarshal(text, &p) != nil {
		return
	}
	fields, _ := relay.Object(p.Update)
	switch relay.Word(fields["sessionUpdate"]) {
	case "tool_call", "tool_call_update":
	default:
		return
	}
	key := p.SessionID + "\n" + relay.Word(fields["toolCallId"])
	t.mu.Lock()
	defer t.mu.Unlock()
	switch relay.Word(fields["status"]) {
	case "completed", "failed", "cancelled":
		t.forget(key)
		return
	}
	call := t.known[key]
	if call == nil {
		if len(t.order) >= maxToolCalls {
			t.forget(t.order[0])
		}
		if t.known == nil {
			t.known = map[string]map[string]json.RawMessage{}
		}
		call = map[string]json.RawMessage{}
		t.known[key], t.order = call, append(t.order, key)
	}
	for _, name := range shownFields() {
		if value, given := fields[name]; given && len(value) <= maxToolField {
			call[name] = value
		}
	}
}

func (t *toolCalls) forget(key string) {
	delete(t.known, key)
	t.order = slices.DeleteFunc(t.order, func(k string) bool { return k == key })
}

// complete adds missing fields of its tool call to the parameters of a permission request.
func (t *toolCalls) complete(text json.RawMessage) json.RawMessage {
	whole, ok := relay.Object(text)
	if !ok {
		return text
	}
	if subject, ok := relay.Object(whole["subject"]); ok { // version 2
		if _, ok := relay.Object(subject["toolCall"]); !ok {
			return text
		}
		subject["toolCall"] = t.fill(relay.Word(whole["sessionId"]), subject["toolCall"])
		whole["subject"] = encode(subject)
		return encode(whole)
	}
	whole["toolCall"] = t.fill(relay.Word(whole["sessionId"]), whole["toolCall"])
	return encode(whole)
}

func (t *toolCalls) fill(session string, text json.RawMessage) json.RawMessage {
	call, ok := relay.Object(text)
	if !ok {
		return text
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, value := range t.known[session+"\n"+relay.Word(call["toolCallId"])] {
		if given := call[name]; len(given) == 0 || string(given) == "null" {
			call[name] = value
		}
	}
	return encode(call)
}
