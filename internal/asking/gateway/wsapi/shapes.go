package wsapi

import (
	"encoding/json"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// The frames of the event pair, plain or typed, and of interact.
const (
	frameRequest          = "ask:question:request"
	frameResponse         = "ask:question:response"
	frameInteractRequest  = "interaction_request"
	frameInteractResponse = "interaction_response"
	frameInteractClosed   = "interaction_closed"
	frameInteractPending  = "interaction_pending" // closed undecided: it stays open
)

// shape is the name of a socket's dialect.
type shape string

const (
	shapeEventPair shape = "event-pair"
	shapeTyped     shape = "typed"
	shapeInteract  shape = "interact"
)

func shapeOf(name string) (shape, error) {
	if name == "" {
		return shapeInteract, nil
	}
	d, _ := dialect.Lookup(name)
	switch s := shape(d.Name); s {
	case shapeEventPair, shapeTyped, shapeInteract:
		return s, nil
	}
	return "", ask.Refusal(ask.CodeInvalid, ask.FaultUnknownDialect, ask.Clip(name, 80), []string{"event-pair", "typed", "interact"})
}

func (s shape) dialect() dialect.Dialect { return dialect.Named(string(s)) }

// interactFrames returns the data of an interaction_request per question of an ask, which people also see at link.
func interactFrames(a *ask.Ask, link string) []json.RawMessage {
	body, _ := shapeInteract.dialect().ShowAt(a, link)
	if len(a.Questions) == 1 {
		return []json.RawMessage{body}
	}
	var frames []json.RawMessage
	_ = json.Unmarshal(body, &frames) // the dialect encodes several questions as an array
	return frames
}

// interactClosed returns the data of an interaction_closed per question of an ended ask.
func interactClosed(a *ask.Ask, o *ask.Outcome) [][]byte {
	by := ""
	if o.By != nil {
		by = o.By.Words()
	}
	bodies := make([][]byte, 0, len(a.Questions))
	for i := range a.Questions {
		body, _ := json.Marshal(struct { // cannot fail: strings encode
			ID        string `json:"id"`
			SessionID string `json:"sessionId"`
			Status    string `json:"status"`
			By        string `json:"by,omitempty"`
		}{dialect.FrameID(a, i), a.Session, string(o.Status), by})
		bodies = append(bodies, body)
	}
	return bodies
}

// eventPairIDs returns the agent of a response event, and our id if the host returned it.
func eventPairIDs(body []byte) (agentID, id string, err error) {
	fields, err := access.ReadObject("event-pair response", body)
	if err != nil {
		return "", "", err
	}
	var faults []ask.Fault
	read := func(key string) (s string) {
		if raw := fields[key]; raw != nil && json.Unmarshal(raw, &s) != nil {
			faults = append(faults, ask.NewFault("/"+key, ask.FaultNotText, "string"))
		}
		return s
	}
	agentID, id = read("agentId"), read("id")
	return agentID, id, ask.InvalidError("event-pair response", faults)
}
