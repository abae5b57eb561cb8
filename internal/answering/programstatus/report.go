package programstatus

import (
	"encoding/base64"
	"strings"
)

// app is the name of askbus's reports. A report replaces the previous one with
// the same name.
const app = "askbus"

// maxMessage bounds the message next to the state, in bytes of UTF-8.
const maxMessage = 240

// Blocked returns the report that a person must answer a question.
func Blocked(message string) string {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-3], "") + "…"
	}
	report := "state=blocked:kind=question:app=" + app
	if message != "" {
		report += ":msg=" + base64.StdEncoding.EncodeToString([]byte(message))
	}
	return osc(report)
}

// Clear returns the report that clears it.
func Clear() string { return osc("state=clear:app=" + app) }

func osc(report string) string { return "\x1b]7501;" + report + "\x1b\\" }

// InTmux wraps a sequence so that tmux passes it to the outer terminal. tmux
// does so only with allow-passthrough, and otherwise ignores it.
func InTmux(sequence string) string {
	return "\x1bPtmux;" + strings.ReplaceAll(sequence, "\x1b", "\x1b\x1b") + "\x1b\\"
}
