package person

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/waiting"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
)

// StatsCmd is "askbus stats".
func StatsCmd(a *cli.App) *cobra.Command {
	var since time.Duration
	var top int
	var week bool
	cmd := &cobra.Command{
		Use: "stats", Short: "Show what waiting for people costs: who is blocked, for how long, who answers", Args: cobra.NoArgs,
		Long: `Counts the asks of all sessions that the credential may see, unless --session is given:
the agents that are blocked now; since midnight, or --since, the hours that agents waited, and
how fast people answered, by person, agent and team. A team is a group that asks are for; an
ask for two groups counts in both. Defaults, policies and declined asks do not count as answers.

--week prints a digest of the last seven days beside the seven before, to be posted in a chat or mailed.

It covers only what the ledger still keeps: asks that ended longer ago than its retention are not counted.`,
		Example: `  askbus stats
  askbus stats --week
  askbus stats --since 24h --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since < 0 || top < 1 {
				return cli.Usage("invalid --since %s or --top %d: use a duration such as 24h, and 1 or more", since, top)
			}
			now := time.Now()
			from := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
			switch {
			case week && since > 0:
				return cli.Usage("--week and --since are two periods; use one of them")
			case week:
				from = from.AddDate(0, 0, -6)
			case since > 0:
				from = now.Add(-since)
			}
			b, err := a.Dial()
			if err != nil {
				return err
			}
			defer b.Close()
			records, err := a.Records(cmd.Context(), b, a.Session, "", "")
			if err != nil {
				return err
			}
			c, before := waiting.NewCounter(from, now), waiting.NewPeriod(from.AddDate(0, 0, -7), from)
			for rec, err := range records {
				if err != nil {
					return err
				}
				c.Add(&rec)
				if week {
					before.Add(&rec)
				}
			}
			s := c.Stats()
			if week && !a.JSON() {
				_, err = fmt.Fprint(a.Stdout, digestText(&s, before.Stats(), top))
				return err
			}
			if a.JSON() {
				data, err := json.Marshal(s)
				if err != nil {
					return err
				}
				a.PrintJSON(data)
				return nil
			}
			period := "Since midnight"
			if since > 0 {
				period = "In the last " + span(waiting.Seconds(since))
			}
			_, err = fmt.Fprint(a.Stdout, statsText(&s, period, top))
			return err
		},
	}
	cmd.Flags().DurationVar(&since, "since", 0, "the period, such as 24h (default: since midnight)")
	cmd.Flags().BoolVar(&week, "week", false, "a digest of the last seven days, today included, beside the seven before")
	cmd.Flags().IntVar(&top, "top", 10, "how many people, agents and teams to print")
	return cmd
}

func span(d waiting.Seconds) string { return cli.Span(lang.English, time.Duration(d)) }

// waited is the time of all agents, of which a tenth of an hour is little.
func waited(d waiting.Seconds) string {
	if time.Duration(d) < time.Hour {
		return span(d)
	}
	return fmt.Sprintf("%.1f hours", time.Duration(d).Hours())
}

// digestText is what waiting cost in a week, beside the week before.
func digestText(s *waiting.Stats, before waiting.Stats, top int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "askbus, %s to %s\n\n", s.From.Format("Monday, 2 January"), s.To.Format("Monday, 2 January 2006"))
	b.WriteString(columns([][]string{
		{"", "THIS WEEK", "THE WEEK BEFORE"},
		{"agents waited", waited(s.Waited), waited(before.Waited)},
		{"half of the answers within", within(s), within(&before)},
		{"questions asked", fmt.Sprint(s.Asked), fmt.Sprint(before.Asked)},
		{"answered by people", fmt.Sprint(s.Answered), fmt.Sprint(before.Answered)},
	}))
	if noisy := waiting.Noisiest(s.Agents); noisy.Asked > 0 {
		fmt.Fprintf(&b, "\n%s asked most: %s.\n", cli.Fit(noisy.Name, 32), count(noisy.Asked, "question", "questions"))
	}
	b.WriteString(tables(s, top))
	return b.String()
}

// within is the median to an answer.
func within(s *waiting.Stats) string {
	if s.Answered == 0 {
		return "-"
	}
	return span(s.Median)
}

// statsText formats what waiting costs.
func statsText(s *waiting.Stats, period string, top int) string {
	var b strings.Builder
	switch s.PendingAsks {
	case 0:
		b.WriteString("Now: no agent is blocked.\n")
	default:
		fmt.Fprintf(&b, "Now: %s blocked by %s, the longest for %s.\n", count(s.BlockedAgents, "agent is", "agents are"), count(s.PendingAsks, "ask", "asks"), span(s.LongestWait))
	}
	fmt.Fprintf(&b, "%s: agents waited %s and asked %s.", period, waited(s.Waited), count(s.Asked, "question", "questions"))
	if s.Answered > 0 {
		fmt.Fprintf(&b, " People answered %d, half of them within %s.", s.Answered, span(s.Median))
	}
	b.WriteString("\n")
	return b.String() + tables(s, top)
}

// tables formats who answered, and who waited.
func tables(s *waiting.Stats, top int) string {
	var b strings.Builder
	table := func(title string, lines []waiting.Line, people bool) {
		if len(lines) == 0 {
			return
		}
		rows := [][]string{{title, "ASKED", "ANSWERED", "HALF WITHIN", "WAITED"}}
		if people {
			rows[0] = []string{title, "ANSWERED", "HALF WITHIN"}
		}
		for _, l := range lines[:min(top, len(lines))] {
			half := "-"
			if l.Answered > 0 {
				half = span(l.Median)
			}
			row := []string{cli.Fit(l.Name, 32), fmt.Sprint(l.Asked), fmt.Sprint(l.Answered), half, span(l.Waited)}
			if people {
				row = []string{row[0], row[2], row[3]}
			}
			rows = append(rows, row)
		}
		b.WriteString("\n" + columns(rows))
		if more := len(lines) - top; more > 0 {
			fmt.Fprintf(&b, "… and %d more (--top)\n", more)
		}
	}
	table("WHO ANSWERED", s.People, true)
	table("AGENT", s.Agents, false)
	table("TEAM", s.Teams, false)
	return b.String()
}

func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n) + " " + several
}

// columns aligns cells, whose names may be wide characters.
func columns(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], displaywidth.String(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-displaywidth.String(cell)) + cli.Gap)
		}
		b.WriteString(row[len(row)-1] + "\n")
	}
	return b.String()
}
