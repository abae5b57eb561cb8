package acp

import (
	"encoding/json"
	"slices"
	"sync"
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
	fields, _ := object(p.Update)
	switch word(fields["sessionUpdate"]) {
	case "tool_call", "tool_call_update":
	default:
		return
	}
	key := p.SessionID + "\n" + word(fields["toolCallId"])
	t.mu.Lock()
	defer t.mu.Unlock()
	switch word(fields["status"]) {
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
	whole, ok := object(text)
	if !ok {
		return text
	}
	if subject, ok := object(whole["subject"]); ok { // version 2
		if _, ok := object(subject["toolCall"]); !ok {
			return text
		}
		subject["toolCall"] = t.fill(word(whole["sessionId"]), subject["toolCall"])
		whole["subject"] = encode(subject)
		return encode(whole)
	}
	whole["toolCall"] = t.fill(word(whole["sessionId"]), whole["toolCall"])
	return encode(whole)
}

func (t *toolCalls) fill(session string, text json.RawMessage) json.RawMessage {
	call, ok := object(text)
	if !ok {
		return text
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, value := range t.known[session+"\n"+word(call["toolCallId"])] {
		if given := call[name]; len(given) == 0 || string(given) == "null" {
			call[name] = value
		}
	}
	return encode(call)
}

// word returns a JSON string, or "".
func word(text json.RawMessage) string {
	var s string
	_ = json.Unmarshal(text, &s) // not a string: empty
	return s
}
