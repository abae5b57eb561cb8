package access

import (
	"github.com/askbus/askbus/pkg/ask"
)

// Fault returns an error for an invalid request.
func Fault(format string, args ...any) error {
	return ask.Refuse(ask.CodeInvalid, format, args...)
}

// Quote quotes a caller's text in a message, truncated if long.
func Quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return `"` + s + `"`
}

// ClipName truncates a name from a caller to the limit of an ask.
func ClipName(s string) string {
	if r := []rune(s); len(r) > ask.MaxName {
		return string(r[:ask.MaxName])
	}
	return s
}
