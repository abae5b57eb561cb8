package web

import (
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/pkg/card"
)

// inline renders the Markdown subset of questions, labels and descriptions.
func inline(text string) template.HTML {
	var b strings.Builder
	escape := template.HTMLEscapeString
	for _, sp := range card.Inline(text) {
		open, end := "", ""
		if sp.Bold {
			open, end = "<strong>", "</strong>"
		}
		if sp.Code {
			open, end = open+"<code>", "</code>"+end
		}
		if sp.Link != "" {
			open, end = open+`<a href="`+escape(sp.Link)+`" target="_blank" rel="noreferrer nofollow noopener">`, "</a>"+end
		}
		b.WriteString(open + escape(sp.Text) + end)
		if sp.Host != "" {
			b.WriteString(` <span class="host">(` + escape(sp.Host) + ")</span>")
		}
	}
	return template.HTML(b.String()) // each part is escaped, and links are http or https (present.Inline)
}
