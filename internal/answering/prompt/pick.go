package prompt

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Pick lets a person choose one of several asks by its number; an empty line chooses the first. The
// error is [ErrLeft], or that of ctx or of lines.
func Pick(ctx context.Context, out io.Writer, lines *Lines, viewer card.Viewer, rows []card.Row) (int, error) {
	for i := range rows {
		r := &rows[i]
		parts := []string{r.Heading, r.Asker.Agent, r.Waits.Words}
		if r.Priority.Words != "" {
			parts = append(parts, r.Priority.Words)
		}
		if r.Ends != nil {
			parts = append(parts, viewer.Say("ends %s", r.Ends.Words))
		}
		fmt.Fprintf(out, "%3d. %s\n", i+1, strings.Join(parts, " · "))
	}
	for {
		fmt.Fprint(out, viewer.Say("Which one? Type its number; an empty line takes the first, /quit leaves."), " ")
		typed, err := lines.Next(ctx)
		if err != nil {
			return 0, err
		}
		switch typed = strings.TrimSpace(typed); typed {
		case "":
			return 0, nil
		case "/quit", "/q":
			return 0, ErrLeft
		}
		if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(rows) {
			return n - 1, nil
		}
		fmt.Fprintln(out, viewer.Say("%s is not a number from 1 to %d.", strconv.Quote(ask.Clip(ask.CleanLine(typed), 40)), len(rows)))
	}
}
