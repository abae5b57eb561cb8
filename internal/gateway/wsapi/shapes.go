package wsapi

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/gateway/access"
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
	frameInteractPending  = "interaction_pending" // closed without a decision: it stays open
)

// shape is the name of the dialect in which a socket is spoken to.
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
	return "", access.Fault("the dialect is %s; a socket speaks event-pair, typed or interact", access.Quote(name))
}

func (s shape) dialect() dialect.Dialect {
	d, _ := dialect.Lookup(string(s)) // which has all three
	return d
}

// interactFrames are the data of one interaction_request for each question.
func interactFrames(a *ask.Ask) []json.RawMessage {
	body, _ := shapeInteract.dialect().Show(a)
	if len(a.Questions) == 1 {
		return []json.RawMessage{body}
	}
	var frames []json.RawMessage
	_ = json.Unmarshal(body, &frames) // with several questions the dialect writes an array of them
	return frames
}

// frameID is the id of the frame of one question: the ask's, and with several
// questions the question's number after a dot.
func frameID(a *ask.Ask, question int) string {
	if len(a.Questions) == 1 {
		return a.ID
	}
	return a.ID + "." + strconv.Itoa(question+1)
}

// splitFrameID takes the id of a frame apart: the ask, and the index of the
// question.
func splitFrameID(id string) (askID string, question int) {
	askID, number, _ := strings.Cut(id, ".")
	n, _ := strconv.Atoi(number)
	return askID, max(n-1, 0)
}

// interactClosed are the data of one interaction_closed for each question of
// an ask that ended.
func interactClosed(a *ask.Ask, o *ask.Outcome) [][]byte {
	by := ""
	if o.By != nil {
		by = o.By.Words()
	}
	bodies := make([][]byte, 0, len(a.Questions))
	for i := range a.Questions {
		body, _ := json.Marshal(struct { // strings can be written
			ID        string `json:"id"`
			SessionID string `json:"sessionId"`
			Status    string `json:"status"`
			By        string `json:"by,omitempty"`
		}{frameID(a, i), a.Session, string(o.Status), by})
		bodies = append(bodies, body)
	}
	return bodies
}

// eventPairIDs says for which ask a response event is: its agent, and the id
// that we sent, if the host gives it back.
func eventPairIDs(body []byte) (agentID, id string, err error) {
	fields, err := access.ReadObject("event-pair response", body)
	if err != nil {
		return "", "", err
	}
	var faults []ask.Fault
	read := func(key string) (s string) {
		if raw := fields[key]; raw != nil && json.Unmarshal(raw, &s) != nil {
			faults = append(faults, ask.Fault{Pointer: "/" + key, Message: "is not a string; give a string"})
		}
		return s
	}
	agentID, id = read("agentId"), read("id")
	return agentID, id, ask.InvalidError("event-pair response", faults)
}
