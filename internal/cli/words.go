package cli

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/spf13/cobra"
)

// AnswerWords formats an answer, one line per question, for scripts: labels are exactly those of
// the ask.
func AnswerWords(o *ask.Outcome) string {
	var lines []string
	if o.Ask != nil {
		for i := range o.Ask.Questions {
			q := &o.Ask.Questions[i]
			ans := o.Answer(q.ID)
			if ans == nil {
				continue
			}
			line := cmp.Or(q.Words(*ans), "(skipped)")
			if len(o.Ask.Questions) > 1 {
				line = q.ID + ": " + line
			}
			line += fileLines(o.Session, ans)
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

// fileLines names the files of an answer, each on a line of its own with the command that reads it.
func fileLines(session string, ans *ask.Answer) (lines string) {
	for i := range ans.Files {
		f := &ans.Files[i]
		lines += "\n  file: " + f.Label() + " (askbus file " + session + "/" + f.ID + ")"
	}
	return lines
}

func cancelWords(o *ask.Outcome) string {
	if option := o.CancelledBy.Option(o.Ask); option != nil {
		return option.Label
	}
	return o.CancelledBy.OptionID
}

// sentence says to a person how an ask ended, in their language.
func (a *App) sentence(o *ask.Outcome, me ask.By) string {
	if o.Ask == nil {
		return o.EndingAt(time.Local)
	}
	return card.NewEnd(&ask.Record{State: ask.StateResolved, Ask: *o.Ask, Outcome: o}, card.Viewer{By: me, Lang: a.Language(), Zone: time.Local}, time.Now()).Sentence
}

// Language returns the language tag of this terminal's person.
func (a *App) Language() string {
	return lang.Of(cmp.Or(a.Terminal.Lang, lang.Environment(os.Getenv))).Tag
}

// completeLanguages completes a tag of the catalogue.
func completeLanguages(*cobra.Command, []string, string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, l := range lang.All() {
		all = append(all, l.Tag+"\t"+l.Name())
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// Tell returns a message in this person's language.
func (a *App) Tell(text string, args ...any) string { return lang.Of(a.Language()).Say(text, args...) }

// Span formats a duration in its largest unit.
func Span(tag string, d time.Duration) string {
	var began time.Time
	return card.Viewer{Lang: tag}.When(began, began.Add(d), card.Since).Words
}
