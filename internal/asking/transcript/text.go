package transcript

import (
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Text formats entries as text. It quotes continuation lines with "> ", so that they cannot pass
// for entries, options or answers.
func Text(entries []Entry) string {
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s  %s", ask.CleanLine(e.ID), e.State)
		if e.Time != "" {
			fmt.Fprintf(&b, "  %s", ask.CleanLine(e.Time))
		}
		b.WriteString("\n")
		for _, q := range e.Questions {
			fmt.Fprintf(&b, "  %s%s\n", several(q), quoteFurther(q.Text, "  "))
			for _, o := range q.Options {
				fmt.Fprintf(&b, "    - %s\n", quoteFurther(o.words(), "      "))
				if o.Preview != "" {
					fmt.Fprintf(&b, "        | %s\n", strings.ReplaceAll(strings.TrimRight(ask.CleanText(o.Preview), "\n"), "\n", "\n        | "))
				}
			}
			if q.Answer != "" {
				fmt.Fprintf(&b, "    = %s\n", quoteFurther(q.Answer, "    "))
			}
			if q.Notes != "" {
				fmt.Fprintf(&b, "    note: %s\n", quoteFurther(q.Notes, "    "))
			}
		}
		if e.Response != "" {
			fmt.Fprintf(&b, "  said: %s\n", quoteFurther(e.Response, "  "))
		}
		if e.Problem != "" {
			fmt.Fprintf(&b, "  cannot be read: %s\n", ask.CleanLine(e.Problem))
		}
	}
	if len(entries) == 0 {
		return "No question was asked with AskUserQuestion.\n"
	}
	return b.String()
}

// quoteFurther cleans a text and quotes its lines after the first.
func quoteFurther(text, indent string) string {
	return strings.ReplaceAll(ask.CleanText(text), "\n", "\n"+indent+"> ")
}

func several(q Question) string {
	if q.Multiple {
		return "(several) "
	}
	return ""
}

func (o Option) words() string {
	if o.Description == "" {
		return o.Label
	}
	return o.Label + ": " + o.Description
}
