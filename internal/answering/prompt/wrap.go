package prompt

import (
	"io"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/displaywidth"
)

// Wrapped returns a writer to a terminal of a width in cells, which breaks lines that are longer between words, and
// indents what follows as the line's beginning. Each write is of whole lines. With 0 it breaks nothing.
func Wrapped(out io.Writer, width int) io.Writer {
	if width <= 0 {
		return out
	}
	return &wrapped{out, width}
}

type wrapped struct {
	out   io.Writer
	width int
}

// lead matches the indent of a line, and its number or bullet.
var lead = regexp.MustCompile(`^ *(?:\d+[.)] +|[-*•] +)?`)

// Write implements [io.Writer].
func (w *wrapped) Write(p []byte) (int, error) {
	lines := strings.Split(string(p), "\n")
	for i, line := range lines {
		if displaywidth.String(line) < w.width { // a terminal may break behind its last cell
			continue
		}
		first := lead.FindString(line)
		if len(first) > w.width/2 {
			first = ""
		}
		rest := ansi.Wrap(line[len(first):], w.width-1-len(first), "")
		lines[i] = first + strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", len(first)))
	}
	if _, err := io.WriteString(w.out, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}
