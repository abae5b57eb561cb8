package access

import (
	"encoding/json"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// ReadObject decodes the fields of a JSON object.
func ReadObject(what string, body []byte) (map[string]json.RawMessage, error) {
	var probe any
	if err := wire.Strict(what, body, &probe); err != nil { // checks depth and duplicate fields
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, ask.InvalidError(what, []ask.Fault{ask.NewFault("", ask.FaultNotObject)})
	}
	return fields, nil
}

// ReadName reads a name: a string, or an object with one.
func ReadName(raw json.RawMessage) (string, error) {
	var name string
	if len(raw) == 0 || json.Unmarshal(raw, &name) == nil {
		return ClipName(name), nil
	}
	var by struct {
		Principal string   `json:"principal"` // proven by the token, never by the body
		Name      string   `json:"name"`
		Groups    []string `json:"groups"`
		Responder string   `json:"responder"`
		Proof     string   `json:"proof"`
	}
	if err := json.Unmarshal(raw, &by); err != nil {
		return "", ask.InvalidError("answer", []ask.Fault{ask.NewFault("/by", ask.FaultNotName)})
	}
	return ClipName(by.Name), nil
}
