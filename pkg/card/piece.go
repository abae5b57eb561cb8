package card

import "strings"

// Piece is a part of a Markdown text: prose, or what is in a fence, of which nothing is markup.
type Piece struct {
	Text     string // without a line break at its ends
	Code     bool
	Language string // of code; may be empty
}

// languageName is the name of a language after the marks that open a fence.
//
//nolint:gochecknoglobals // compiled once, never changed
var languageName = compiled(`^[A-Za-z0-9+#-]{0,20}$`)

// Info returns what follows the marks that open a fence: the name of a language, or else words, which are a line of what the
// fence holds, so that nothing is lost.
func Info(s string) (language, words string) {
	if s = strings.TrimSpace(s); languageName().MatchString(s) {
		return s, ""
	}
	return "", s
}

// Pieces splits a Markdown text at its fences, in order. A fence ends only with one that is as long, so that what it
// holds cannot end it.
func Pieces(markdown string) (pieces []Piece) {
	var lines []string
	var open Piece
	fence := ""
	end := func(next Piece) {
		if open.Text = strings.Trim(strings.Join(lines, "\n"), "\n"); open.Text != "" {
			pieces = append(pieces, open)
		}
		open, lines = next, nil
	}
	for l := range strings.SplitSeq(markdown, "\n") {
		mark := fenceMark().FindStringSubmatch(l)
		switch {
		case fence == "" && mark != nil:
			fence = mark[1]
			language, words := Info(strings.TrimPrefix(strings.TrimLeft(l, " "), fence))
			if end(Piece{Code: true, Language: language}); words != "" {
				lines = append(lines, words)
			}
		case fence != "" && mark != nil && strings.HasPrefix(mark[1], fence) && strings.Trim(l, " `~") == "":
			fence = ""
			end(Piece{})
		default:
			lines = append(lines, l)
		}
	}
	end(Piece{})
	return pieces
}
