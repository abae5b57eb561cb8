package access

import (
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
)

// Quote quotes a caller's text in a message, truncated if long.
func Quote(s string) string {
	return `"` + ask.Clip(s, 80) + `"`
}

// ClipName truncates a name from a caller to the limit of an ask.
func ClipName(s string) string {
	return fmt.Sprintf("%.*s", ask.MaxName, s)
}
