package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/go-json-experiment/json/jsontext"
)

// Digest identifies the content of a normalized ask: see [DigestJSON].
func Digest(a *ask.Ask) (string, error) {
	data, err := EncodeAsk(a)
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	return DigestJSON(data)
}

// DigestJSON identifies the content of a normalized ask's JSON: "sha256:" and
// the hex SHA-256 of the RFC 8785 JSON of its questions, title, context,
// audience, min_proof, exclude_asker, asker, only, exclude, approval, escalate,
// escalate_repeat, escalate_hours, at_deadline and files. Deadline, agent, priority and metadata are excluded.
func DigestJSON(raw []byte) (string, error) {
	content := append(make(jsontext.Value, 0, len(raw)), '{')
	err := members(raw, func(name string, value []byte) {
		switch name {
		case "title", "context", "audience", "min_proof", "exclude_asker", "asker", "only", "exclude", "approval", "escalate", "escalate_repeat", "escalate_hours", "at_deadline", "questions", "files":
			if len(content) > 1 {
				content = append(content, ',')
			}
			content = append(strconv.AppendQuote(content, name), ':')
			content = append(content, value...)
		}
	})
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	content = append(content, '}')
	if err := content.Canonicalize(); err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Stored is the data of a question event in the ledger, split but not decoded.
type Stored struct {
	Ask        json.RawMessage // it may have fields that this version does not know
	OnDeadline json.RawMessage // the expiry outcome, without its ask
	Digest     string
}

// EncodeStored returns the data of a question event in the ledger.
func EncodeStored(s Stored) []byte {
	// Its parts are already JSON; encoding them again would read every byte.
	b := append(make([]byte, 0, len(s.Ask)+len(s.OnDeadline)+128), `{"ask":`...)
	b = append(append(b, s.Ask...), `,"on_deadline":`...)
	b = append(append(b, s.OnDeadline...), `,"digest":`...)
	return append(strconv.AppendQuote(b, s.Digest), '}')
}

// OpenStored reads the data of a question event in the ledger.
func OpenStored(data []byte) (Stored, error) {
	var s Stored
	err := members(data, func(name string, value []byte) {
		switch name {
		case "ask":
			s.Ask = value
		case "on_deadline":
			s.OnDeadline = value
		case "digest":
			digest, _ := jsontext.AppendUnquote(nil, value)
			s.Digest = string(digest)
		}
	})
	if err == nil && (s.Ask == nil || s.OnDeadline == nil) {
		err = errors.New("ask or on_deadline is missing")
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read question: %w", err)
	}
	return s, nil
}

// DecodeStoredAsk reads an ask from the ledger, leniently.
func DecodeStoredAsk(raw []byte, s ask.Session) (*ask.Ask, error) {
	a := &ask.Ask{Tenant: s.Tenant, Session: s.Name}
	if err := a.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("read question: %w", err)
	}
	return a, nil
}

// OutcomeAsk returns the JSON of the ask in an outcome's JSON, or nil.
func OutcomeAsk(outcome []byte) (raw json.RawMessage) {
	_ = members(outcome, func(name string, value []byte) {
		if name == "ask" {
			raw = value
		}
	})
	return raw
}

// SetDeciders returns the JSON of an ask with the audience and the approval of
// another. All else stays as it is, also what this version does not know.
func SetDeciders(rawAsk []byte, as *ask.Ask) (json.RawMessage, error) {
	audience, err := Marshal(as.Audience)
	if err != nil {
		return nil, err
	}
	approval, err := Marshal(as.Approval)
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(rawAsk)+len(audience)+len(approval)), '{')
	err = members(rawAsk, func(name string, value []byte) {
		switch name {
		case "audience":
			value = audience
		case "approval":
			value = approval
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		quoted, _ := jsontext.AppendQuote(nil, name)
		b = append(append(append(b, quoted...), ':'), value...)
	})
	if err != nil {
		return nil, fmt.Errorf("set who may decide: %w", err)
	}
	return append(b, '}'), nil
}

// members calls tell with the name and the raw value of each member of a JSON
// object.
func members(data []byte, tell func(name string, value []byte)) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.Join(errors.New("not a JSON object"), err)
	}
	for dec.PeekKind() != '}' {
		t, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := t.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := dec.InputOffset()
		tell(name, data[end-int64(len(value)):end])
	}
	_, err := dec.ReadToken()
	return err
}
