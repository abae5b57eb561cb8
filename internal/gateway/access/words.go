package access

import (
	"github.com/askbus/askbus/pkg/ask"
)

// Fault is a refusal of a request that is wrong.
func Fault(format string, args ...any) error {
	return ask.Refuse(ask.CodeInvalid, format, args...)
}

// Quote is a caller's own word in a message, cut if it is long.
func Quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return `"` + s + `"`
}

// ClipName is a name that a caller gave, cut to what an ask may hold.
func ClipName(s string) string {
	if r := []rune(s); len(r) > ask.MaxName {
		return string(r[:ask.MaxName])
	}
	return s
}
