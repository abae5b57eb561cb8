package main

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
)

// answerWords formats an answer, one line per question, for scripts: labels are exactly those of
// the ask.
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

// language returns the language tag of this terminal's person.
func (a *app) language() string {
	return lang.Of(cmp.Or(a.tty.Lang, lang.Environment(os.Getenv))).Tag
}

// languages returns the tags of the catalogue, for completion.
func languages() []string {
	var all []string
	for _, l := range lang.All() {
		all = append(all, l.Tag+"\t"+l.Name)
	}
	return all
}

// tell returns a message in this person's language.
func (a *app) tell(text string, args ...any) string { return lang.Of(a.language()).Say(text, args...) }

// span formats a duration in its largest unit.
func span(tag string, d time.Duration) string {
	var began time.Time
	return present.Viewer{Lang: tag}.When(began, began.Add(d), present.Since).Words
}
