package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// Column widths of a list, in cells.
const (
	whoWidth     = 24 // at most
	headingWidth = 60 // without a terminal
	LeastHeading = 24 // with less, the row takes two lines
	Gap          = "  "
	UrgentMark   = "▲" // colour alone is not enough
	HighMark     = "△"
	PendingMark  = "◆"
)

// Size returns the size of the terminal of a writer, or 0, 0 if it is none.
func Size(w any) (width, height int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// TellTable prints asks as a table that fits the terminal.
func (a *App) TellTable(items []ask.Record) {
	if len(items) == 0 {
		a.Note("nothing is waiting")
		return
	}
	width, _ := Size(a.Stdout)
	_, _ = io.WriteString(a.Stdout, Table(items, width, time.Now()))
}

// TellList prints a list: as JSON what told is, or a table with a row of each item.
func TellList[T any](a *App, told any, heading string, list []T, row func(*T) []string) error {
	if a.JSON() {
		return a.TellJSON(told)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for i := range list {
		cells := row(&list[i])
		for j := range cells {
			cells[j] = ask.CleanLine(cells[j])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// tableRow is an ask in a list.
type tableRow struct{ age, state, heading, who, name string }

// Table lists asks in columns that fit a terminal of the given width; 0 is no terminal. Questions come before names. It never
// cuts a name, so that it can be copied: if there is no room for it, it gets its own line.
func Table(items []ask.Record, width int, now time.Time) string {
	rows := []tableRow{{"WAITING", "STATE", "QUESTION", "WHO ASKS", "ASK"}}
	for i := range items {
		rows = append(rows, newTableRow(&items[i], now))
	}
	var age, state, who, name int
	heading := headingWidth
	for _, r := range rows {
		age, state = max(age, displaywidth.String(r.age)), max(state, displaywidth.String(r.state))
		who, name = max(who, displaywidth.String(r.who)), max(name, displaywidth.String(r.name))
	}
	below := false // the names have lines of their own
	if width > 0 {
		rest := width - age - state - 2*len(Gap)
		heading = min(headingWidth, rest-who-name-2*len(Gap))
		if heading < LeastHeading { // leave the asker out first
			who = 0
			heading = rest - name - len(Gap)
		}
		if below = heading < LeastHeading; below {
			heading = max(rest, 1)
		}
	}
	var b strings.Builder
	for i, r := range rows {
		line := padded(r.age, age) + Gap + padded(r.state, state) + Gap + padded(Fit(r.heading, heading), heading)
		if who > 0 {
			line += Gap + padded(r.who, who)
		}
		if !below {
			line += Gap + r.name
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if below && i > 0 {
			b.WriteString(Gap + r.name + "\n")
		}
	}
	return b.String()
}

func padded(cell string, width int) string {
	return cell + strings.Repeat(" ", max(0, width-displaywidth.String(cell)))
}

func newTableRow(rec *ask.Record, now time.Time) tableRow {
	state, age := "pending", Span(lang.English, now.Sub(rec.AskedAt))
	if rec.Outcome != nil {
		state, age = string(rec.Outcome.Status), Span(lang.English, rec.Outcome.Waited)
	}
	row := card.NewRow(rec, card.Viewer{}, now)
	if rec.Outcome == nil && row.Votes != "" {
		state += ", " + row.Votes
	}
	heading := row.Heading
	switch {
	case rec.Outcome != nil:
	case row.Priority.Urgent():
		heading = UrgentMark + " " + heading
	case row.Priority.Level == ask.PriorityHigh:
		heading = HighMark + " " + heading
	}
	return tableRow{age, state, heading, Fit(row.Asker.Agent, whoWidth), row.Key.Session + "/" + row.Key.ID}
}

// Fit truncates s to the given number of cells.
func Fit(s string, most int) string { return displaywidth.TruncateString(s, most, "…") }

// Sum returns the sum of column widths.
func Sum(n []int) (total int) {
	for _, v := range n {
		total += v
	}
	return total
}

// Draw overwrites the previous text on the screen line by line, to avoid flicker, and truncates the
// text to the screen's height.
func Draw(w io.Writer, text string, height int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if height > 1 && len(lines) > height-1 {
		lines = append(lines[:height-2], fmt.Sprintf("… and %d lines more", len(lines)-height+2))
	}
	fmt.Fprint(w, "\x1b[?2026h\x1b[H"+strings.Join(lines, "\x1b[K\r\n")+"\x1b[K\x1b[J\x1b[?2026l")
}
