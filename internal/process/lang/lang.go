// Package lang is the message catalogue: the texts that people read on a
// surface, in each language of askbus.
//
// A message is identified by its English text, which English readers get. The
// other languages are in messages, one file each; docs/translating.md says how
// to add one. If one text has two meanings, a bar and a word distinguish them
// ("Other|menu"); the part after the bar is never shown. Ids instead of texts
// would make templates unreadable, and let the English drift from what was
// translated: here a changed sentence breaks its translations, and a test says so.
//
// x/text matches languages and chooses plural forms. Only messages whose form
// depends on a number go through its printer, which takes 4 µs and groups digits.
//
// It decides which language a person gets, which plural form a number takes,
// and how a message is formatted. A text that a language lacks is returned in
// English.
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

// English is the tag of the language that identifies messages.
const English = "en"

// Language is one language of the catalogue. Its file is read when something is
// first said in it, since most commands say nothing, or in one language only. It
// is safe for concurrent use.
type Language struct {
	Tag string // a BCP 47 tag, such as "en" or "zh-Hans"

	messages func() *messages
	printers sync.Pool // of *message.Printer, which is not safe for concurrent use
}

// messages are those of one language.
type messages struct {
	name  string            // of the language, in itself
	plain map[string]string // messages of one form
	forms map[string]forms  // messages with a form for each kind of number
}

// forms are the forms of a message by the plural categories of CLDR, such as
// "one" and "other", or by an exact number, such as "=1".
type forms map[string]string

// book is the whole catalogue.
type book struct {
	languages []*Language // English first
	matcher   language.Matcher
}

// open lists the catalogue.
//
//nolint:gochecknoglobals // read once, never changed
var open = sync.OnceValue(func() *book {
	entries, err := files.ReadDir("messages")
	if err != nil {
		panic("lang: " + err.Error())
	}
	b := &book{}
	for _, e := range entries {
		b.languages = append(b.languages, newLanguage(e.Name()))
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
		l.printWith(b.languages[0])
	}
	b.matcher = language.NewMatcher(tags)
	return b
})

// newLanguage is the language of a file. Reading it panics if the embedded file
// is invalid, which the tests would show.
func newLanguage(file string) *Language {
	l := &Language{Tag: strings.TrimSuffix(file, path.Ext(file))}
	l.messages = sync.OnceValue(func() *messages {
		m, err := read(file)
		if err != nil {
			panic(fmt.Sprintf("lang: %s: %v", file, err))
		}
		return m
	})
	return l
}

// printWith prepares the printers of messages that depend on a number. What the
// language lacks is printed in English.
func (l *Language) printWith(english *Language) {
	printer := sync.OnceValue(func() func() any {
		all := catalog.NewBuilder(catalog.Fallback(language.English))
		for _, of := range []*Language{english, l} {
			for key, f := range of.messages().forms {
				if err := f.addTo(all, language.Make(of.Tag), key); err != nil {
					panic(fmt.Sprintf("lang: %s: %q: %v", of.Tag, key, err))
				}
			}
		}
		return func() any { return message.NewPrinter(language.Make(l.Tag), message.Catalog(all)) }
	})
	l.printers.New = func() any { return printer()() }
}

// read reads the file of one language: {"name": …, "section": {message: text
// or forms}}.
func read(file string) (*messages, error) {
	body, err := files.ReadFile("messages/" + file)
	if err != nil {
		return nil, err
	}
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(body, &sections); err != nil {
		return nil, err
	}
	m := &messages{plain: map[string]string{}, forms: map[string]forms{}}
	if err := json.Unmarshal(sections["name"], &m.name); err != nil {
		return nil, fmt.Errorf("name: %w", err)
	}
	delete(sections, "name")
	for section, raw := range sections {
		var texts map[string]json.RawMessage
		if err := json.Unmarshal(raw, &texts); err != nil {
			return nil, fmt.Errorf("%s: %w", section, err)
		}
		for key, raw := range texts {
			if err := m.load(key, raw); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", section, key, err)
			}
		}
	}
	return m, nil
}

func (m *messages) load(key string, raw json.RawMessage) error {
	if _, twice := m.plain[key]; twice || m.forms[key] != nil {
		return fmt.Errorf("is in two sections")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		m.plain[key] = text
		return nil
	}
	var f forms
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	if f["other"] == "" {
		return fmt.Errorf(`has no form "other"`)
	}
	m.forms[key] = f
	return nil
}

// addTo makes the forms known to the printers of x/text.
func (f forms) addTo(all *catalog.Builder, tag language.Tag, key string) error {
	var cases []any
	for _, form := range slices.Sorted(maps.Keys(f)) {
		if form != "other" {
			cases = append(cases, form, f[form])
		}
	}
	return all.Set(tag, key, plural.Selectf(1, "%d", append(cases, "other", f["other"])...))
}

// Name is the language's name in itself, such as "English".
func (l *Language) Name() string { return l.messages().name }

// All returns the languages of the catalogue, English first.
func All() []*Language { return open().languages }

// Of returns the best language of the catalogue for a tag, else English.
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

// Match returns the language for a list of wishes, most wanted first. A wish is
// a tag or the value of Accept-Language. If none matches, it returns English
// and false.
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

// Environment returns the tag that a terminal's environment asks for:
// ASKBUS_LANG, else the POSIX locale for messages. It is empty if neither is
// set.
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

// Say formats a message in this language: strings for %s, whole numbers for %d,
// with an index where the order differs (%[2]s). The first number selects the
// plural form.
func (l *Language) Say(text string, args ...any) string {
	m := l.messages()
	pattern, one := m.plain[text]
	if !one && m.forms[text] == nil {
		pattern, one = meaning(text), l.Tag == English || open().languages[0].messages().forms[text] == nil
	}
	if len(args) == 0 {
		return pattern
	}
	switch {
	case one && l.Tag == English:
		return fmt.Sprintf(pattern, args...)
	case one:
		return Fill(pattern, args...)
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

// meaning returns a message's text without the part that distinguishes
// meanings.
func meaning(text string) string {
	text, _, _ = strings.Cut(text, "|")
	return text
}

// Script returns a message for a program that formats it itself: a text, or the
// forms by plural category. It is nil if the text itself is right.
func (l *Language) Script(text string) any {
	switch {
	case l.messages().forms[text] != nil:
		return l.messages().forms[text]
	case l.Say(text) != text:
		return l.Say(text)
	}
	return nil
}

// Han reports whether the language is written in Chinese characters, which a
// renderer must set with the right regional font.
func (l *Language) Han() bool { return strings.HasPrefix(l.Tag, "zh") }
