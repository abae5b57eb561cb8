package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
)

// voice is what templates say in one language.
type voice struct{ *lang.Language }

// functions are those of a language's templates.
func (v voice) functions(scripts []string) template.FuncMap {
	table := v.table(scripts)
	return template.FuncMap{
		"say": v.Say, "tell": v.tell, "language": func() string { return v.Tag }, "lang": v.lang, "table": func() template.JS { return table },
		"verdict": v.verdict, "told": v.told, "places": v.places, "languages": lang.All,
	}
}

// slots stand for values in a message until it is escaped.
const slots = '\ue000'

// tell is a message with HTML in it. Each value is escaped, but for what one of
// the functions below has made; a moment ticks. What people and agents wrote
// comes through strong or bdi, so that it stands in its own writing direction.
func (v voice) tell(text string, values ...any) template.HTML {
	marks, drawn := make([]any, len(values)), make([]string, 0, 2*len(values))
	for i, value := range values {
		mark := string(slots + rune(i))
		marks[i] = mark
		drawn = append(drawn, mark, draw(value))
	}
	return template.HTML(strings.NewReplacer(drawn...).Replace(template.HTMLEscapeString(v.Say(text, marks...)))) //nolint:gosec // each value is escaped above
}

func draw(value any) string {
	switch v := value.(type) {
	case template.HTML:
		return string(v)
	case present.Moment:
		return moment(&v)
	case *present.Moment:
		return moment(v)
	}
	return template.HTMLEscapeString(fmt.Sprint(value))
}

// moment is the template of that name, for messages.
func moment(m *present.Moment) string {
	escape := template.HTMLEscapeString
	return `<time dir="ltr" datetime="` + escape(m.Stamp()) + `" data-tick="` + escape(string(m.Style)) + `">` + escape(m.Words) + "</time>"
}

// element is text in an element, for messages.
func element(open, text, shut string) template.HTML {
	return template.HTML(open + template.HTMLEscapeString(text) + shut) //nolint:gosec // escaped
}

// bdi is text of people and agents in a message.
func bdi(text string) template.HTML { return element("<bdi>", text, "</bdi>") }

// strong is a name in a message.
func strong(name string) template.HTML { return element(`<strong dir="auto">`, name, "</strong>") }

func branch(name string) template.HTML  { return element(`<bdi class="work">`, name, "</bdi>") }
func code(command string) template.HTML { return element("<code>", command, "</code>") }
func signInLink(words string) template.HTML {
	return element(`<a href="/login" target="_blank" rel="noopener">`, words, "</a>")
}

// keys are the caps of keys that are pressed together.
func kbd(names ...string) template.HTML {
	caps := make([]string, len(names))
	for i, name := range names {
		caps[i] = string(element("<kbd>", name, "</kbd>"))
	}
	return template.HTML(strings.Join(caps, " ")) //nolint:gosec // escaped
}

// verdict is how an ask ended in one line: who, when, and where.
func (v voice) verdict(e *present.End) template.HTML {
	who := "<strong>" + bdi(e.Who) + "</strong>"
	switch {
	case e.Who == "":
		return v.tell("%[1]s at %[2]s", e.Lead, e.At)
	case e.Mine || e.Where == "":
		return v.tell("%[1]s by %[2]s at %[3]s", e.Lead, who, e.At)
	}
	return v.tell("%[1]s by %[2]s at %[3]s %[4]s", e.Lead, who, e.At, e.Where)
}

// told is the same without the time.
func (v voice) told(lead string, e *present.End) template.HTML {
	who := "<strong>" + bdi(e.Who) + "</strong>"
	switch {
	case e.Who == "":
		return element("", lead, "")
	case e.Where == "":
		return v.tell("%[1]s by %[2]s", lead, who)
	}
	return v.tell("%[1]s by %[2]s %[3]s", lead, who, e.Where)
}

// places lists where else an ask is shown.
func (v voice) places(all []present.Place) template.HTML {
	drawn := make([]string, len(all))
	for i, p := range all {
		drawn[i] = template.HTMLEscapeString(p.Where)
		if p.Link != "" {
			drawn[i] = `<a href="` + template.HTMLEscapeString(p.Link) + `" rel="noreferrer nofollow">` + drawn[i] + "</a>"
		}
		if p.Words != "" {
			drawn[i] += string(v.tell(" (%s)", bdi(p.Words)))
		}
	}
	return template.HTML(strings.Join(drawn, template.HTMLEscapeString(v.Say(", ")))) //nolint:gosec // each is escaped above, and a place's link is an http URL
}

// lang is the attribute of a text that is of another language than the page,
// where its script says so.
func (v voice) lang(texts ...string) template.HTMLAttr {
	tag := ask.LanguageOf(texts...)
	if tag == "" && v.Han() {
		return ` lang=""` // Latin letters: not ours, and whose is not known
	}
	if tag == "" || strings.HasPrefix(v.Tag, tag) {
		return ""
	}
	return template.HTMLAttr(` lang="` + tag + `"`) //nolint:gosec // a tag of a short list
}

// spoken matches what scripts say.
const spoken = `\bsay\('((?:[^'\\]|\\.)+)'`

// scripts are the messages of the scripts.
func (a *assets) scripts() []string {
	match := regexp.MustCompile(spoken)
	var all []string
	for name, body := range a.files {
		if strings.HasSuffix(name, ".js") {
			for _, m := range match.FindAllStringSubmatch(string(body), -1) {
				all = append(all, strings.ReplaceAll(m[1], `\'`, `'`))
			}
		}
	}
	return all
}

// table is what scripts say in this language, where that is not the message
// itself.
func (v voice) table(scripts []string) template.JS {
	words := map[string]any{}
	for _, text := range scripts {
		if w := v.Script(text); w != nil {
			words[text] = w
		}
	}
	body, err := json.Marshal(words)
	if err != nil {
		return "{}"
	}
	return template.JS(body) //nolint:gosec // JSON, with < and > escaped
}
