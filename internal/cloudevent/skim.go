package cloudevent

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// SkimQuestion reads of a stored question what a list item needs, without
// decoding the ask: its JSON as it is, and a record of when it was asked, until
// when, and whose it is. It is not ok when it must be read by [ReadQuestion].
func SkimQuestion(msg *nats.Msg, k ask.Key) (ListItem, bool) {
	h, err := readHead(msg)
	if err != nil || h.typ != TypeAsked {
		return ListItem{}, false
	}
	expiry := msg.Header[headerPrefix+"expirytime"]
	if len(expiry) != 1 {
		return ListItem{}, false
	}
	deadline, err := time.Parse(time.RFC3339, percentDecode(expiry[0]))
	if err != nil {
		return ListItem{}, false
	}
	raw, ok := firstField(h.data, `{"ask":`)
	if !ok {
		return ListItem{}, false
	}
	a := ask.Ask{ID: k.ID, Tenant: k.Tenant, Session: k.Session, Deadline: deadline}
	return ListItem{Record: ask.Record{State: ask.StatePending, Ask: a, AskedAt: h.time}, RawAsk: raw}, true
}

// firstField is the object that is the first field of data, as we write it.
func firstField(data []byte, head string) (json.RawMessage, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(head))
	if !ok || len(rest) == 0 || rest[0] != '{' {
		return nil, false
	}
	depth, quoted := 0, false
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return rest[:i+1], true
			}
		}
	}
	return nil, false
}
