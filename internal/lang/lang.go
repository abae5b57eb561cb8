// Package lang is the message catalogue: what people read on a surface, in each
// language that askbus has.
//
// A message is named by its English text, which is what English readers get. The
// other languages lie in messages, one file each; docs/translating.md says how to
// add one. Where one text stands for two meanings, a bar and a word tell them
// apart ("Other|menu"); nobody sees what follows the bar.
//
// It decides which language a person gets, which form a number takes, and how a
// message is put together. It leaves to its callers what to say. It promises that
// every text comes out: in English, where a language lacks it.
package lang

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
	"golang.org/x/text/number"
)

//go:embed messages
var files embed.FS

// English is the tag of the language in which messages are named.
const English = "en"

// Language is one language of the catalogue. It is safe for concurrent use.
type Language struct {
	Tag  string // as in BCP 47, such as "en" or "zh-Hans"
	Name string // as its readers call it: "English"

	plain    map[string]string // messages of one form
	forms    map[string]forms  // messages with a form for each kind of number
	printers sync.Pool         // of *message.Printer, which are for one goroutine
}

// forms are the forms of a message by the plural categories of CLDR, such as
// "one" and "other", or by an exact number, such as "=1".
type forms map[string]string

// book is the whole catalogue.
type book struct {
	languages []*Language // English first
	matcher   language.Matcher
}

// open reads the catalogue. What is embedded is whole, as a test sees.
//
//nolint:gochecknoglobals // read once, never changed
var open = sync.OnceValue(func() *book {
	b, err := read()
	if err != nil {
		panic("lang: " + err.Error())
	}
	return b
})

func read() (*book, error) {
	entries, err := files.ReadDir("messages")
	if err != nil {
		return nil, err
	}
	all := catalog.NewBuilder(catalog.Fallback(language.English))
	b := &book{}
	for _, e := range entries {
		l, err := readOne(all, e.Name())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		b.languages = append(b.languages, l)
	}
	slices.SortStableFunc(b.languages, func(x, y *Language) int {
		switch {
		case x.Tag == English:
			return -1
		case y.Tag == English:
			return 1
		}
		return strings.Compare(x.Tag, y.Tag)
	})
	tags := make([]language.Tag, len(b.languages))
	for i, l := range b.languages {
		tags[i] = language.Make(l.Tag)
	}
	b.matcher = language.NewMatcher(tags)
	return b, nil
}

// readOne reads the file of one language: {"name": …, "section": {message: text or forms}}.
func readOne(all *catalog.Builder, name string) (*Language, error) {
	body, err := files.ReadFile("messages/" + name)
	if err != nil {
		return nil, err
	}
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(body, &sections); err != nil {
		return nil, err
	}
	l := &Language{Tag: strings.TrimSuffix(name, path.Ext(name)), plain: map[string]string{}, forms: map[string]forms{}}
	tag, err := language.Parse(l.Tag)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(sections["name"], &l.Name); err != nil {
		return nil, fmt.Errorf("name: %w", err)
	}
	delete(sections, "name")
	for section, raw := range sections {
		var messages map[string]json.RawMessage
		if err := json.Unmarshal(raw, &messages); err != nil {
			return nil, fmt.Errorf("%s: %w", section, err)
		}
		for key, raw := range messages {
			if err := l.take(all, tag, key, raw); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", section, key, err)
			}
		}
	}
	l.printers.New = func() any { return message.NewPrinter(tag, message.Catalog(all)) }
	return l, nil
}

func (l *Language) take(all *catalog.Builder, tag language.Tag, key string, raw json.RawMessage) error {
	if _, twice := l.plain[key]; twice || l.forms[key] != nil {
		return fmt.Errorf("stands in two sections")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		l.plain[key] = text
		return all.SetString(tag, key, text)
	}
	var f forms
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	if f["other"] == "" {
		return fmt.Errorf(`has no form "other"`)
	}
	l.forms[key] = f
	var cases []any
	for _, form := range slices.Sorted(maps.Keys(f)) {
		if form != "other" {
			cases = append(cases, form, f[form])
		}
	}
	return all.Set(tag, key, plural.Selectf(1, "%d", append(cases, "other", f["other"])...))
}

// All are the languages of the catalogue, English first.
func All() []*Language { return open().languages }

// Of is the language for a tag: the one that its readers understand best, else
// English.
func Of(tag string) *Language {
	b := open()
	for _, l := range b.languages {
		if l.Tag == tag {
			return l
		}
	}
	l, _ := Match(tag)
	return l
}

// Match finds the language for what somebody asks for, the first wish first. A
// wish is a tag or the value of Accept-Language. It is English, and false, where
// none of them is understood.
func Match(wishes ...string) (*Language, bool) {
	b := open()
	for _, wish := range wishes {
		tags, _, err := language.ParseAcceptLanguage(wish)
		if err != nil || len(tags) == 0 {
			continue
		}
		if _, i, sure := b.matcher.Match(tags...); sure > language.No {
			return b.languages[i], true
		}
	}
	return b.languages[0], false
}

// Environment is the tag that a terminal's environment asks for: ASKBUS_LANG,
// else what POSIX says of messages. It is empty when that says nothing.
func Environment(getenv func(string) string) string {
	for _, name := range []string{"ASKBUS_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		locale := getenv(name)
		if locale == "" {
			continue
		}
		locale, _, _ = strings.Cut(locale, ".")
		locale, _, _ = strings.Cut(locale, "@")
		if locale == "C" || locale == "POSIX" {
			return English
		}
		return strings.ReplaceAll(locale, "_", "-")
	}
	return ""
}

// Say is a message in this language, with what stands in it filled in: strings
// for %s, whole numbers for %d, by number where the order differs (%[2]s). The
// first number chooses the form.
func (l *Language) Say(text string, args ...any) string {
	pattern, one := l.plain[text]
	if !one && l.forms[text] == nil {
		pattern, one = meaning(text), l.Tag == English || open().languages[0].forms[text] == nil
	}
	if len(args) == 0 {
		return pattern
	}
	if one {
		return fmt.Sprintf(pattern, args...)
	}
	args = slices.Clone(args)
	for i, a := range args {
		if n, ok := a.(int); ok {
			args[i] = number.Decimal(n, number.NoSeparator())
		}
	}
	p, _ := l.printers.Get().(*message.Printer)
	defer l.printers.Put(p)
	return p.Sprintf(message.Key(text, meaning(text)), args...)
}

// meaning is a message's own text without what tells meanings apart.
func meaning(text string) string {
	text, _, _ = strings.Cut(text, "|")
	return text
}

// Script is a message for a program that fills it in by itself: a text, or the
// forms by their plural category. It is nil where the text itself is right.
func (l *Language) Script(text string) any {
	switch {
	case l.forms[text] != nil:
		return l.forms[text]
	case l.Say(text) != text:
		return l.Say(text)
	}
	return nil
}

// Han reports whether the language is written in Chinese characters, which a
// reader must set in its own forms.
func (l *Language) Han() bool { return strings.HasPrefix(l.Tag, "zh") }
