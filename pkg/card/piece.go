package card

import "strings"

// Piece is a part of a Markdown text: prose, or what is in a fence, of which nothing is markup.
type Piece struct {
	Text     string // without a line break at its ends
	Code     bool
	Language string // of code; may be empty
}

// Pieces splits a Markdown text at its fences, in order. A fence ends only with one that is as long, so that what it
// holds cannot end it. What follows a fence's first marks and is not the name of a language is part of its text.
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
			info := strings.TrimSpace(strings.TrimLeft(strings.TrimLeft(l, " "), fence[:1]))
			if strings.ContainsAny(info, " `~;|&$(){}") {
				end(Piece{Code: true})
				lines = append(lines, info)
			} else {
				end(Piece{Code: true, Language: info})
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
