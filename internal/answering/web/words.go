package web

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// localized holds the template functions of one language.
type localized struct{ *lang.Language }

// functions returns the template functions of a language.
func (v localized) functions(a *assets, scripts []string) template.FuncMap {
	table := v.table(scripts)
	return template.FuncMap{
		"say": v.Say, "tell": v.tell, "hue": hue, "language": func() string { return v.Tag }, "lang": v.lang, "table": func() template.JS { return table },
		"verdict": v.verdict, "places": v.places, "languages": lang.All, "asset": a.path,
		"inline": inline, "plain": card.InlinePlain, "strong": strong, "bdi": bdi, "kbd": kbd, "code": code, "work": branch, "signin": signInLink,
		// Templates call no methods: these are the methods that they need.
		"line": (*chatLine).Line, "name": (*lang.Language).Name, "rest": (*card.End).Rest, "stamp": card.Moment.Stamp, "urgent": card.Priority.Urgent,
	}
}

// hues is the number of colours that tell agents apart in a list.
const hues = 8

// hue returns the colour of an agent's name: always the same.
func hue(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int(h.Sum32() % hues)
}

// slots stands for values in a message until it is escaped.
const slots = '\ue000'

// tell returns a message with HTML in it. It escapes each value, except for
// results of the functions below; a moment is updated by scripts. Text by
// people and agents comes through strong or bdi, which isolate its writing
// direction.
func (v localized) tell(text string, values ...any) template.HTML {
	marks, drawn := make([]any, len(values)), make([]string, 0, 2*len(values))
	for i, value := range values {
		mark, shown := string(slots+rune(i)), draw(value)
		marks[i] = lang.Styled{Text: elements.ReplaceAllString(shown, ""), As: mark}
		drawn = append(drawn, mark, shown)
	}
	return template.HTML(strings.NewReplacer(drawn...).Replace(template.HTMLEscapeString(v.Say(text, marks...)))) // each value is escaped above
}

var elements = regexp.MustCompile(`<[^>]*>`)

func draw(value any) string {
	switch v := value.(type) {
	case template.HTML:
		return string(v)
	case card.Moment:
		return moment(&v)
	case *card.Moment:
		return moment(v)
	}
	return template.HTMLEscapeString(fmt.Sprint(value))
}

// moment returns the template of that name, for messages.
func moment(m *card.Moment) string {
	escape := template.HTMLEscapeString
	return `<time dir="ltr" datetime="` + escape(m.Stamp()) + `" data-tick="` + escape(string(m.Style)) + `">` + escape(m.Words) + "</time>"
}

// element returns text in an element, for messages.
func element(open, text, shut string) template.HTML {
	return template.HTML(open + template.HTMLEscapeString(text) + shut) // escaped
}

// bdi returns text by people or agents, for messages.
func bdi(text string) template.HTML { return element("<bdi>", text, "</bdi>") }

// strong returns a name, for messages.
func strong(name string) template.HTML { return element(`<strong dir="auto">`, name, "</strong>") }

func branch(name string) template.HTML  { return element(`<bdi class="work">`, name, "</bdi>") }
func code(command string) template.HTML { return element("<code>", command, "</code>") }
func signInLink(words string) template.HTML {
	return element(`<a href="/login" target="_blank" rel="noopener">`, words, "</a>")
}

// kbd returns key caps that are pressed together.
func kbd(names ...string) template.HTML {
	caps := make([]string, len(names))
	for i, name := range names {
		caps[i] = string(element("<kbd>", name, "</kbd>"))
	}
	return template.HTML(strings.Join(caps, " ")) // escaped
}

// verdict returns the sentence that says how an ask ended.
func (v localized) verdict(e *card.End) template.HTML {
	var drawn []string
	slot := func(p card.Part, s string) string {
		mark := string(slots + rune(len(drawn)/2)) //nolint:gosec // a sentence has four parts
		switch p {
		case card.PartWho:
			s = "<strong>" + string(bdi(s)) + "</strong>"
		case card.PartWhat:
			s = `<strong dir="auto">` + template.HTMLEscapeString(s) + "</strong>"
		case card.PartWhen, card.PartWhy:
			s = `<span dir="auto">` + template.HTMLEscapeString(s) + "</span>"
		}
		drawn = append(drawn, mark, s)
		return mark
	}
	text := template.HTMLEscapeString(e.Tell(slot))
	return template.HTML(strings.NewReplacer(drawn...).Replace(text)) // each part is escaped above
}

// places lists the other surfaces that show an ask.
func (v localized) places(all []card.Place) template.HTML {
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
	return template.HTML(strings.Join(drawn, template.HTMLEscapeString(v.Say(", ")))) // each is escaped above, and a place's link is an http URL
}

// lang returns the lang attribute of a text whose script shows that its
// language is not the page's.
func (v localized) lang(texts ...string) template.HTMLAttr {
	tag := ask.LanguageOf(texts...)
	if tag == "" && v.Han() {
		return ` lang=""` // Latin letters: not the page's language, and otherwise unknown
	}
	if tag == "" || strings.HasPrefix(v.Tag, tag) {
		return ""
	}
	return template.HTMLAttr(` lang="` + tag + `"`) // a tag of a short list
}

// spoken matches the messages in scripts.
const spoken = `\bsay\('((?:[^'\\]|\\.)+)'`

// scripts returns the messages of the scripts.
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

// table returns the translations of the scripts' messages, except those that
// equal the message.
func (v localized) table(scripts []string) template.JS {
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
	return template.JS(body) // JSON, with < and > escaped
}
