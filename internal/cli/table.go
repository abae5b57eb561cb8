package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
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

// tableRow is an ask in a list: its cells and its heading.
type tableRow struct {
	cells   [4]string // ask, waiting, state, who asks
	heading string
}

// Table lists asks in columns that fit a terminal of the given width; 0 is no terminal. It never
// cuts the ask's name, so that it can be copied: if there is no room for the heading, the heading
// gets its own line.
func Table(items []ask.Record, width int, now time.Time) string {
	rows := []tableRow{{[4]string{"ASK", "WAITING", "STATE", "WHO ASKS"}, "QUESTION"}}
	for i := range items {
		rows = append(rows, newTableRow(&items[i], now))
	}
	columns := [4]int{}
	for _, r := range rows {
		for i, cell := range r.cells {
			columns[i] = max(columns[i], displaywidth.String(cell))
		}
	}
	heading := headingWidth
	if width > 0 {
		heading = width - Sum(columns[:]) - 4*len(Gap)
		if heading < LeastHeading { // drop the asker first
			heading += columns[3] + len(Gap)
			columns[3] = 0
		}
	}
	var b strings.Builder
	for i, r := range rows {
		var line strings.Builder
		for at, cell := range r.cells {
			if columns[at] > 0 {
				line.WriteString(cell + strings.Repeat(" ", columns[at]-displaywidth.String(cell)) + Gap)
			}
		}
		if heading >= LeastHeading {
			b.WriteString(strings.TrimRight(line.String()+Fit(r.heading, heading), " ") + "\n")
			continue
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if i > 0 {
			b.WriteString(Gap + Fit(r.heading, max(width-len(Gap), LeastHeading)) + "\n")
		}
	}
	return b.String()
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
	if rec.Outcome == nil && row.Priority.Urgent() {
		heading = UrgentMark + " " + heading
	}
	return tableRow{[4]string{row.Key.Session + "/" + row.Key.ID, age, state, Fit(row.Asker.Agent, whoWidth)}, heading}
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
