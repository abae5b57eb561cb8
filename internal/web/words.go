package web

import (
	"fmt"
	"html/template"

	"github.com/askbus/askbus/internal/present"
)

// words are those around cards, on every page of the inbox.
func words() *present.Words { return present.WordsOf("en") }

// fillHTML puts values into a pattern of [present.Words], as a template does: a
// moment ticks. What people and agents wrote comes through strong or bdi, so that
// it stands in its own writing direction.
func fillHTML(pattern string, values ...any) template.HTML {
	drawn := make([]string, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case template.HTML:
			drawn[i] = string(v)
		case present.Moment:
			drawn[i] = moment(&v)
		case *present.Moment:
			drawn[i] = moment(v)
		default:
			drawn[i] = template.HTMLEscapeString(fmt.Sprint(v))
		}
	}
	return template.HTML(present.Fill(template.HTMLEscapeString(pattern), drawn...)) //nolint:gosec // each value is escaped above
}

// moment is the template of that name, for patterns.
func moment(m *present.Moment) string {
	escape := template.HTMLEscapeString
	return `<time dir="ltr" datetime="` + escape(m.Stamp()) + `" data-tick="` + escape(string(m.Style)) + `">` + escape(m.Words) + "</time>"
}

// bdi is text of people and agents in a pattern.
func bdi(text string) template.HTML {
	return template.HTML("<bdi>" + template.HTMLEscapeString(text) + "</bdi>") //nolint:gosec // escaped
}

// strong is a name in a pattern.
func strong(name string) template.HTML {
	return template.HTML(`<strong dir="auto">` + template.HTMLEscapeString(name) + "</strong>") //nolint:gosec // escaped
}
