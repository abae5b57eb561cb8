package chat

import (
	"regexp"
	"strings"

	"github.com/askbus/askbus/pkg/card"
)

// Part is a piece of what an agent writes about its question: prose, or code, which keeps every space. It has no line
// break at its ends.
type Part struct {
	Text string
	Code bool
}

// headings are the marks of headings in Markdown.
var headings = regexp.MustCompile(`(?m)^#{1,6}[ \t]+`)

// Parts returns a preview or a context in pieces, for chats that draw no Markdown of an agent: prose has no marks. Clip cuts prose to a number of characters; of a layout the middle is
// left out. Cut reports whether that was necessary.
func Parts(p *card.Preview, most int, clip func(s string, most int) string) (parts []Part, cut bool) {
	whole := strings.TrimSpace(p.Body)
	if p.Kind == card.Layout {
		short := card.Middle(whole, most)
		return []Part{{short, true}}, short != whole
	}
	whole = card.Tables(whole)
	short := clip(whole, most)
	for _, p := range card.Pieces(short) {
		if !p.Code {
			p.Text = card.InlinePlain(headings.ReplaceAllString(p.Text, ""))
		}
		parts = append(parts, Part{p.Text, p.Code})
	}
	return parts, short != whole
}
