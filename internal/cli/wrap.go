package cli

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Wrap breaks the lines of a text between words, for a terminal of the given width; 0 is no terminal. What is to be copied
// stays whole, and the terminal breaks it where it must: a long word, an indented line, and a command in quotes or after a
// colon.
func Wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") && displaywidth.String(line) > width {
			lines[i] = wrapLine(line, width)
		}
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range words(line) {
		cells := displaywidth.String(word)
		switch {
		case i == 0:
		case column+1+cells > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += cells
	}
	return b.String()
}

// words splits a line at its spaces outside of commands. A quote without an end quotes nothing.
func words(line string) (all []string) {
	from, within := 0, false
	for i, r := range line {
		switch {
		case r == '"':
			within = !within && strings.Contains(line[i+1:], `"`)
		case r == ' ' && !within:
			all, from = append(all, line[from:i]), i+1
			if strings.HasSuffix(line[:i], ":") && strings.HasPrefix(line[from:], "askbus ") {
				return append(all, line[from:])
			}
		}
	}
	return append(all, line[from:])
}
