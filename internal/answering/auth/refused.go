package auth

import "github.com/askbus/askbus/pkg/ask"

// RefusedError is a refusal that the person reads: Text is a message of the catalogue.
// As an error it is English, for the log and the audit.
type RefusedError struct {
	Text    string
	Args    []any
	refusal *ask.Error
}

// Tell refuses a person. The text is a message of the catalogue, and no sentence
// yet: it has no capital and no full stop.
func Tell(code, text string, args ...any) error {
	return &RefusedError{text, args, ask.Refuse(code, text, args...)}
}

// Error returns the refusal in English.
func (e *RefusedError) Error() string { return e.refusal.Error() }

// Unwrap returns the refusal as an [*ask.Error].
func (e *RefusedError) Unwrap() error { return e.refusal }
