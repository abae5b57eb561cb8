package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// answerWords is what was decided, one line a question.
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
	if o.Ask != nil {
		if q := o.Ask.Question(o.CancelledBy.QuestionID); q != nil {
			if opt := q.Option(o.CancelledBy.OptionID); opt != nil {
				return opt.Label
			}
		}
	}
	return o.CancelledBy.OptionID
}

// endWords says how it ended: "answered by Mei on web at 10:02".
func endWords(o *ask.Outcome) string {
	s := string(o.Status)
	if o.Status == ask.StatusExpired {
		s = "nobody answered in time"
		if o.Source == ask.SourceDefault {
			s += "; these are the declared defaults, not a human's answer"
		}
	}
	if o.By != nil {
		name := o.By.Name
		if name == "" {
			name = o.By.Principal
		}
		s += " by " + name
		if o.By.Responder != "" {
			s += " on " + o.By.Responder
		}
	}
	s += " at " + o.At.Local().Format("15:04:05")
	if o.Reason != "" {
		s += ": " + o.Reason
	}
	return s
}

// span is a duration in its one unit that matters.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
