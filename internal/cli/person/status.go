package person

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/server/rights"
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

// StatusCmd is "askbus status".
func StatusCmd(a *cli.App) *cobra.Command {
	var format string
	var all bool
	cmd := &cobra.Command{
		Use: "status", Short: "Print how many asks wait for you, and since when, for status lines", Args: cobra.NoArgs,
		Long: `Prints one line: how many asks wait for you, how many are urgent and how old
the oldest is; nothing if none waits. It takes at most 3 s. docs/terminal.md shows
it in tmux's status line and in a shell's prompt.

  --format tmux   with tmux's colours: ◆ 3 12 min, or ▲ 3 12 min if one is urgent
  --format plain  ◆ 3 waiting, oldest 12 min, or ▲ 3 waiting, 1 urgent, oldest 12 min
  --format json   waiting, urgent, oldest_asked_at, oldest_age_seconds, for_others`,
		Example: `  askbus status
  tmux set -ga status-right ' #(askbus status --format tmux)'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case format == "" && a.JSON():
				format = "json"
			case format == "":
				format = "plain"
			}
			write, ok := map[string]func(*summary, string) string{"tmux": (*summary).tmux, "plain": (*summary).plain, "json": (*summary).json}[format]
			if !ok {
				return cli.Usage("invalid --format %q: use tmux, plain or json", format)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), statusLimit)
			defer cancel()
			s, err := summarize(ctx, a, all)
			if err != nil {
				return err
			}
			if line := write(&s, a.Language()); line != "" {
				fmt.Fprintln(a.Stdout, line)
			} else if cli.IsTerminal(a.Stdout) {
				a.Note("%s", a.Tell("nothing is waiting"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "tmux, plain or json (default: as --output says)")
	cmd.Flags().BoolVar(&all, "all", false, "also count asks that only others may decide")
	cli.Fixed(cmd, "format", "tmux\tfor status-right", "plain\tfor a prompt", "json\tfor a program")
	return cmd
}

// summary counts the waiting asks. Up to 500 asks take one request.
func summarize(ctx context.Context, a *cli.App, all bool) (summary, error) {
	b, err := a.Dial()
	if err != nil {
		return summary{}, err
	}
	defer b.Close()
	by, err := a.Me(b)
	if err != nil {
		return summary{}, err
	}
	pending, err := a.Records(ctx, b, a.Session, "", ask.StatePending)
	if err != nil {
		return summary{}, err
	}
	var s summary
	all = all || b.Role.Name == rights.RoleAgent
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
		return cli.UrgentMark
	}
	return cli.PendingMark
}

func (s *summary) age(tag string) string {
	return cli.Span(tag, time.Duration(s.Age*float64(time.Second)))
}

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
