package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// statusLimit bounds "askbus status", because status lines wait for it.
const statusLimit = 3 * time.Second

// summary is the output of "askbus status".
type summary struct {
	Waiting int        `json:"waiting"`                   // that the person may decide
	Urgent  int        `json:"urgent"`                    // of these
	Oldest  *time.Time `json:"oldest_asked_at,omitempty"` // of these
	Age     float64    `json:"oldest_age_seconds"`        // of these
	Others  int        `json:"for_others"`                // only others may decide
}

func (a *app) statusCmd() *cobra.Command {
	var format string
	var all bool
	cmd := &cobra.Command{
		Use: "status", Short: "Print how many asks wait for you, and since when, for status lines", Args: cobra.NoArgs,
		Long: `Prints one line: how many asks wait for you, how many are urgent and how old
the oldest is; nothing if none waits. It takes at most 3 s. docs/terminal.md shows
it in tmux's status line and in a shell's prompt.

  --format tmux   with tmux's colours: ◆ 3 12m, or ▲ 3 12m if one is urgent
  --format plain  ◆ 3 waiting, 1 urgent, oldest 12m
  --format json   waiting, urgent, oldest_asked_at, oldest_age_seconds, for_others`,
		Example: `  askbus status
  tmux set -ga status-right ' #(askbus status --format tmux)'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case format == "" && a.json():
				format = "json"
			case format == "":
				format = "plain"
			}
			write, ok := map[string]func(*summary, string) string{"tmux": (*summary).tmux, "plain": (*summary).plain, "json": (*summary).json}[format]
			if !ok {
				return usage("invalid --format %q: use tmux, plain or json", format)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), statusLimit)
			defer cancel()
			s, err := a.summary(ctx, all)
			if err != nil {
				return err
			}
			if line := write(&s, a.language()); line != "" {
				fmt.Fprintln(a.out, line)
			} else if isTerminal(a.out) {
				a.say("%s", a.tell("nothing is waiting"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "tmux, plain or json (default: as --output says)")
	cmd.Flags().BoolVar(&all, "all", false, "also count asks that only others may decide")
	fixed(cmd, "format", "tmux\tfor status-right", "plain\tfor a prompt", "json\tfor a program")
	return cmd
}

// summary counts the waiting asks. Up to 500 asks take one request.
func (a *app) summary(ctx context.Context, all bool) (summary, error) {
	b, err := a.dial()
	if err != nil {
		return summary{}, err
	}
	defer b.close()
	by, err := a.me(b)
	if err != nil {
		return summary{}, err
	}
	pending, err := a.records(ctx, b, a.session, "", ask.StatePending)
	if err != nil {
		return summary{}, err
	}
	var s summary
	all = all || b.role.Name == natsd.RoleAgent
	for rec, err := range pending {
		switch {
		case err != nil:
			return summary{}, err
		case !all && !rec.Ask.Allows(by):
			s.Others++
		default:
			s.add(&rec)
		}
	}
	if s.Oldest != nil {
		s.Age = max(0, time.Since(*s.Oldest).Round(time.Second).Seconds())
	}
	return s, nil
}

func (s *summary) add(rec *ask.Record) {
	s.Waiting++
	if rec.Ask.Priority == ask.PriorityUrgent {
		s.Urgent++
	}
	if s.Oldest == nil || rec.AskedAt.Before(*s.Oldest) {
		s.Oldest = new(rec.AskedAt)
	}
}

func (s *summary) mark() string {
	if s.Urgent > 0 {
		return urgentMark
	}
	return pendingMark
}

func (s *summary) age(tag string) string { return span(tag, time.Duration(s.Age*float64(time.Second))) }

// tmux formats the summary for tmux's status line.
func (s *summary) tmux(tag string) string {
	if s.Waiting == 0 {
		return ""
	}
	style := "#[fg=yellow]"
	if s.Urgent > 0 {
		style = "#[fg=red,bold]"
	}
	return fmt.Sprintf("%s%s %d#[default] %s", style, s.mark(), s.Waiting, s.age(tag))
}

func (s *summary) plain(tag string) string {
	if s.Waiting == 0 {
		return ""
	}
	l := lang.Of(tag)
	words := []string{s.mark() + " " + l.Say("%d waiting", s.Waiting)}
	if s.Urgent > 0 {
		words = append(words, l.Say("%d urgent", s.Urgent))
	}
	return strings.Join(append(words, l.Say("oldest %s", s.age(tag))), l.Say(", |aside"))
}

func (s *summary) json(string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return "{}" // numbers and a time: Marshal cannot fail
	}
	return string(data)
}
