package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// Completion queries the bus. It must never delay the shell: without a reply in time it completes
// nothing.
const (
	completeLimit = time.Second
	completeMost  = 200
)

// Fixed completes a flag with fixed values; a tab separates a value from its description.
func Fixed(cmd *cobra.Command, flag string, values ...string) {
	// Registration fails only for an unknown or a repeated flag; a test covers every completion.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	})
}

// live calls each for every ask on the bus until each returns false.
func (a *App) live(cmd *cobra.Command, session string, state ask.State, each func(*ask.Record) (more bool)) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
	defer cancel()
	a.LogLevel = "error"
	a.personalAs(cmd) // prepare ran for cobra's own completion command
	b, err := a.Dial()
	if err != nil {
		return
	}
	defer b.Close()
	records, err := a.Records(ctx, b, session, "", state)
	if err != nil {
		return
	}
	for rec, err := range records {
		if err != nil || !each(&rec) {
			return
		}
	}
}

// CompleteAsks completes a reference to an ask: SESSION/ID, or only the ID if the typed text begins
// one.
func (a *App) CompleteAsks(state ask.State) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		a.live(cmd, a.Session, state, func(rec *ask.Record) bool {
			words := Span(lang.English, time.Since(rec.AskedAt)) + " " + Line(rec.Ask.Heading(), 50)
			for _, name := range []string{rec.Ask.Session + "/" + rec.Ask.ID, rec.Ask.ID} {
				if strings.HasPrefix(name, typed) && (name != rec.Ask.ID || typed != "") {
					names = append(names, cobra.CompletionWithDesc(name, words))
				}
			}
			return len(names) < completeMost
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteSessions completes --session with the sessions that have waiting asks.
func (a *App) CompleteSessions(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	count := map[string]int{}
	a.live(cmd, "", ask.StatePending, func(rec *ask.Record) bool {
		count[rec.Ask.Session]++
		return len(count) < completeMost
	})
	names := make([]cobra.Completion, 0, len(count))
	for name, n := range count {
		words := "1 waits"
		if n > 1 {
			words = strconv.Itoa(n) + " wait"
		}
		names = append(names, cobra.CompletionWithDesc(name, words))
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeAnswer completes an answer flag from the ask named in the arguments: its questions, if it
// has several, and their options.
func (a *App) completeAnswer(kinds []ask.Kind, values func(*ask.Question) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found *ask.Ask
		session, id, both := strings.Cut(args[0], "/")
		if !both {
			session, id = a.Session, args[0]
		}
		a.live(cmd, session, ask.StatePending, func(rec *ask.Record) bool {
			if rec.Ask.ID == id {
				found = &rec.Ask
			}
			return found == nil
		})
		if found == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeQuestions(found, kinds, values, typed)
	}
}

func completeQuestions(of *ask.Ask, kinds []ask.Kind, values func(*ask.Question) []cobra.Completion, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	directive := cobra.ShellCompDirectiveNoFileComp
	for i := range of.Questions {
		q := &of.Questions[i]
		if !slices.Contains(kinds, q.Kind) {
			continue
		}
		name := ""
		if len(of.Questions) > 1 {
			name = q.ID + "="
		}
		given := values(q)
		if len(given) == 0 || name != "" && !strings.HasPrefix(typed, name) {
			if name != "" {
				out = append(out, cobra.CompletionWithDesc(name, Line(q.Text, 50)))
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			continue
		}
		before, _ := strings.CutPrefix(typed, name)
		before = before[:strings.LastIndexByte(before, ',')+1] // complete the last of several options
		if !q.Multiple {
			before = ""
		}
		for _, v := range given {
			out = append(out, name+before+v)
		}
	}
	return out, directive
}

// optionValues returns the options of a choice.
func optionValues(q *ask.Question) []cobra.Completion {
	out := make([]cobra.Completion, 0, len(q.Options))
	for i := range q.Options {
		out = append(out, cobra.CompletionWithDesc(q.Options[i].ID, Line(q.Options[i].Label, 50)))
	}
	return out
}

func noValues(*ask.Question) []cobra.Completion { return nil }

func booleanValues(*ask.Question) []cobra.Completion { return []cobra.Completion{"true", "false"} }

// AnswerCompletions registers the completions of the flags of "askbus answer".
func (a *App) AnswerCompletions(cmd *cobra.Command) {
	every := []ask.Kind{ask.KindChoice, ask.KindText, ask.KindNumber, ask.KindBoolean, ask.KindDate}
	for flag, f := range map[string]cobra.CompletionFunc{
		"select":  a.completeAnswer([]ask.Kind{ask.KindChoice}, optionValues),
		"reply":   a.completeAnswer(every, optionValues),
		"other":   a.completeAnswer([]ask.Kind{ask.KindChoice}, noValues),
		"text":    a.completeAnswer([]ask.Kind{ask.KindText}, noValues),
		"number":  a.completeAnswer([]ask.Kind{ask.KindNumber}, noValues),
		"boolean": a.completeAnswer([]ask.Kind{ask.KindBoolean}, booleanValues),
		"date":    a.completeAnswer([]ask.Kind{ask.KindDate}, noValues),
		"note":    a.completeAnswer(every, noValues),
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, f) // as in fixed
	}
}
