package prompt

import (
	"io"
	"regexp"
	"strings"

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
		indent := displaywidth.String(first)
		lines[i] = first + strings.Join(broken(line[len(first):], w.width-1-indent), "\n"+strings.Repeat(" ", indent))
	}
	if _, err := io.WriteString(w.out, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// broken breaks a line between words, and a word that is too long, such as Chinese, between characters.
func broken(line string, width int) (lines []string) {
	at, used := "", 0
	for word := range strings.SplitAfterSeq(line, " ") {
		if used > 0 && used+displaywidth.String(strings.TrimRight(word, " ")) > width {
			lines, at, used = append(lines, strings.TrimRight(at, " ")), "", 0
		}
		for g := displaywidth.StringGraphemes(word); g.Next(); {
			if g.Value() != " " && used+g.Width() > width {
				lines, at, used = append(lines, at), "", 0
			}
			at, used = at+g.Value(), used+g.Width()
		}
	}
	return append(lines, at)
}
