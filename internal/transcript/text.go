package transcript

import (
	"fmt"
	"strings"
)

// Text is the entries for people to read.
func Text(entries []Entry) string {
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s  %s", e.ID, e.State)
		if e.Time != "" {
			fmt.Fprintf(&b, "  %s", e.Time)
		}
		b.WriteString("\n")
		for _, q := range e.Questions {
			fmt.Fprintf(&b, "  %s\n", q.Text)
			if q.Answer != "" {
				fmt.Fprintf(&b, "    = %s\n", q.Answer)
			} else {
				fmt.Fprintf(&b, "    options: %s\n", strings.Join(q.Options, " | "))
			}
			if q.Notes != "" {
				fmt.Fprintf(&b, "    note: %s\n", strings.ReplaceAll(q.Notes, "\n", "\n    "))
			}
		}
		if e.Response != "" {
			fmt.Fprintf(&b, "  said: %s\n", strings.ReplaceAll(e.Response, "\n", "\n  "))
		}
		if e.Problem != "" {
			fmt.Fprintf(&b, "  cannot be read: %s\n", e.Problem)
		}
	}
	if len(entries) == 0 {
		return "No question was asked with AskUserQuestion.\n"
	}
	return b.String()
}
