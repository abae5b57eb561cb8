package token

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// ReadFile reads the token file of versions without shared state.
func ReadFile(path string) ([]Token, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	var c struct {
		Tokens []json.RawMessage `json:"tokens"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	tokens := make([]Token, len(c.Tokens))
	for i, raw := range c.Tokens {
		if tokens[i], err = decode(raw); err != nil {
			return nil, fmt.Errorf("%s is damaged: token %s: %w", path, tokens[i].ID, err)
		}
	}
	return tokens, nil
}

// decode decodes a stored token strictly: a misspelt scope must not be taken for a wider one.
func decode(data []byte) (Token, error) {
	var t Token
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, err
	}
	if t.Role == Agent {
		t.Principal, t.Groups = "", nil // earlier versions issued agents' tokens with these; they have no effect
	}
	return t, t.Validate()
}
