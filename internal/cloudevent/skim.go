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
	raw, ok := firstField(h.data)
	if !ok {
		return ListItem{}, false
	}
	a := ask.Ask{ID: k.ID, Tenant: k.Tenant, Session: k.Session, Deadline: deadline}
	return ListItem{Record: ask.Record{State: ask.StatePending, Ask: a, AskedAt: h.time}, RawAsk: raw}, true
}

// firstField is the ask at the head of a stored question, as we write it.
func firstField(data []byte) (json.RawMessage, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"ask":`))
	if !ok || len(rest) == 0 || rest[0] != '{' {
		return nil, false
	}
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			n := quoted(rest[i:])
			if n == 0 {
				return nil, false
			}
			i += n - 1
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return rest[:i+1], true
			}
		}
	}
	return nil, false
}

// quoted is the length of the string that data begins with; 0 when it does not
// end.
func quoted(data []byte) int {
	for i := 1; i < len(data); i++ {
		end := bytes.IndexByte(data[i:], '"')
		if end < 0 {
			return 0
		}
		i += end
		before := i
		for data[before-1] == '\\' {
			before--
		}
		if (i-before)%2 == 0 {
			return i + 1
		}
	}
	return 0
}
