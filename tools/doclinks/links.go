package main

import (
	"go/doc/comment"
	"strings"
)

// links returns the links to documentation in a doc comment, in order.
func links(d *comment.Doc) []*comment.DocLink {
	var found []*comment.DocLink
	var blocks func([]comment.Block)
	inside := func(text []comment.Text) {
		for _, t := range text {
			if l, ok := t.(*comment.DocLink); ok {
				found = append(found, l)
			}
		}
	}
	blocks = func(all []comment.Block) {
		for _, b := range all {
			switch b := b.(type) {
			case *comment.Heading:
				inside(b.Text)
			case *comment.Paragraph:
				inside(b.Text)
			case *comment.List:
				for _, item := range b.Items {
					blocks(item.Content)
				}
			case *comment.Code: // is shown as it stands
			}
		}
	}
	blocks(d.Content)
	return found
}

// text returns a link's text without its brackets.
func text(l *comment.DocLink) string {
	var b strings.Builder
	for _, t := range l.Text {
		switch t := t.(type) {
		case comment.Plain:
			b.WriteString(string(t))
		case comment.Italic:
			b.WriteString(string(t))
		}
	}
	return b.String()
}
