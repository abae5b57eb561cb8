package main

import (
	"strings"
	"time"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
)

// answerWords is what was decided, one line a question, for scripts: labels
// are exactly those that were asked.
func answerWords(o *ask.Outcome) string {
	var lines []string
	if o.Ask != nil {
		for i := range o.Ask.Questions {
			q := &o.Ask.Questions[i]
			ans := o.Answer(q.ID)
			if ans == nil {
				continue
			}
			line := q.Words(*ans)
			if line == "" {
				line = "(skipped)"
			}
			if len(o.Ask.Questions) > 1 {
				line = q.ID + ": " + line
			}
			if ans.Notes != "" {
				line += "\n  note: " + strings.ReplaceAll(ans.Notes, "\n", "\n  ")
			}
			lines = append(lines, line)
		}
	}
	if o.Response != "" {
		lines = append(lines, o.Response)
	}
	if o.CancelledBy != nil {
		lines = append(lines, cancelWords(o))
	}
	if len(lines) == 0 {
		lines = append(lines, string(o.Status))
	}
	return strings.Join(lines, "\n")
}

func cancelWords(o *ask.Outcome) string {
	if option := o.CancelledBy.Option(o.Ask); option != nil {
		return option.Label
	}
	return o.CancelledBy.OptionID
}

// span is a duration in its one unit that matters.
func span(d time.Duration) string {
	var began time.Time
	return present.Viewer{}.When(began, began.Add(d), present.Since).Words
}
