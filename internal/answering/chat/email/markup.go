package email

import (
	_ "embed"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/pkg/card"
)

// ltr is the direction of code, also in text from right to left: --force is not force--.
const ltr = ` dir="ltr"`

// inline returns one line of an agent's text as HTML. Links are text with their host: nothing that an agent writes is a
// link of a mail or of its page.
func inline(text string) template.HTML {
	var b strings.Builder
	for _, sp := range card.Inline(text) {
		open, end := "", ""
		if sp.Bold {
			open, end = "<b>", "</b>"
		}
		if sp.Code {
			open, end = open+"<code"+ltr+">", "</code>"+end
		}
		b.WriteString(open + template.HTMLEscapeString(sp.Text) + end)
		if sp.Link != "" && sp.Host != "" {
			b.WriteString(" (" + template.HTMLEscapeString(sp.Host) + ")")
		}
	}
	return template.HTML(strings.ReplaceAll(b.String(), "\n", "<br>\n")) // every part is escaped
}

// preStyle begins a text in fixed width.
//
//go:embed templates/pre.txt
var preStyle string

// body returns an agent's preview or context as HTML, in at most so many characters: fences and layouts in fixed width,
// the rest as paragraphs.
func body(p *card.Preview, most int) template.HTML {
	if p == nil {
		return ""
	}
	text := card.Middle(strings.TrimRight(p.Body, "\n"), most)
	if p.Kind == card.Layout {
		return template.HTML(preStyle + template.HTMLEscapeString(text) + "</pre>") // escaped
	}
	var b strings.Builder
	for _, part := range card.Pieces(card.Tables(text)) {
		if part.Code {
			b.WriteString(preStyle + template.HTMLEscapeString(part.Text) + "</pre>")
			continue
		}
		for paragraph := range strings.SplitSeq(part.Text, "\n\n") {
			if strings.TrimSpace(paragraph) != "" {
				b.WriteString(`<p style="margin:6px 0" dir="auto">` + string(inline(strings.TrimLeft(paragraph, "#"))) + "</p>")
			}
		}
	}
	return template.HTML(b.String()) // every part is escaped
}
