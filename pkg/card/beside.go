package card

import (
	"strconv"
	"strings"
)

// between separates two previews.
const between = "   "

// sideBySide renders the previews of options as columns under their numbers and labels. It returns
// nil if there are fewer than two, or if they do not fit into the width without truncation.
func sideBySide(options []Option, width int, cells func(string) int) []string {
	var columns [][]string
	height := 0
	for i := range options {
		o := &options[i]
		if o.Preview == nil {
			continue
		}
		column := []string{strconv.Itoa(i+1) + ". " + o.Label}
		for l := range strings.Lines(strings.TrimRight(o.Preview.Body, "\n")) {
			column = append(column, "| "+strings.ReplaceAll(strings.TrimRight(l, "\n"), "\t", "    "))
		}
		columns, height = append(columns, column), max(height, len(column))
	}
	if len(columns) < 2 {
		return nil
	}
	wide, total := make([]int, len(columns)), cells("  ")-len(between)
	for i, column := range columns {
		for _, l := range column {
			wide[i] = max(wide[i], cells(l))
		}
		total += wide[i] + len(between)
	}
	if total > width {
		return nil
	}
	drawn := make([]string, height)
	for y := range drawn {
		var line strings.Builder
		line.WriteString("  ")
		for i, column := range columns {
			l := ""
			if y < len(column) {
				l = column[y]
			}
			line.WriteString(l + strings.Repeat(" ", wide[i]-cells(l)) + between)
		}
		drawn[y] = strings.TrimRight(line.String(), " ")
	}
	return drawn
}
