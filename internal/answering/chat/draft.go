package chat

import (
	"encoding/base64"
	"encoding/json"

	"github.com/askbus/askbus/pkg/card"
)

// Draft is a person's unfinished reply as a message carries it, so that a restart or another replica continues.
type Draft struct {
	By    string     `json:"by"` // id of the person in the chat; the draft is theirs alone
	Steps card.Steps `json:"steps"`
}

// Encode returns the draft in letters, digits, "-" and "_", or "" if that takes more than a number of bytes.
func (d Draft) Encode(most int) string {
	data, err := json.Marshal(d)
	if s := base64.RawURLEncoding.EncodeToString(data); err == nil && len(s) <= most {
		return s
	}
	return ""
}

// ParseDraft parses what [Draft.Encode] returned. What it says is checked only when the reply is sent.
func ParseDraft(s string) (d Draft, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(s)
	return d, err == nil && json.Unmarshal(data, &d) == nil && d.By != ""
}
