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

// Language is one language of the catalogue. It is safe for concurrent use.
type Language struct {
	Tag  string // a BCP 47 tag, such as "en" or "zh-Hans"
	Name string // its name in the language itself: "English"

	plain    map[string]string // messages of one form
	forms    map[string]forms  // messages with a form for each kind of number
	printers sync.Pool         // of *message.Printer, which is not safe for concurrent use
}

// forms are the forms of a message by the plural categories of CLDR, such as
// "one" and "other", or by an exact number, such as "=1".
type forms map[string]string

// book is the whole catalogue.
type book struct {
	languages []*Language // English first
	matcher   language.Matcher
}

// open reads the catalogue. It panics if an embedded file is invalid, which the
// tests would show.
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

// readOne reads the file of one language: {"name": …, "section": {message: text
// or forms}}.
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
			if err := l.load(all, tag, key, raw); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", section, key, err)
			}
		}
	}
	l.printers.New = func() any { return message.NewPrinter(tag, message.Catalog(all)) }
	return l, nil
}

func (l *Language) load(all *catalog.Builder, tag language.Tag, key string, raw json.RawMessage) error {
	if _, twice := l.plain[key]; twice || l.forms[key] != nil {
		return fmt.Errorf("is in two sections")
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
	case l.forms[text] != nil:
		return l.forms[text]
	case l.Say(text) != text:
		return l.Say(text)
	}
	return nil
}

// Han reports whether the language is written in Chinese characters, which a
// renderer must set with the right regional font.
func (l *Language) Han() bool { return strings.HasPrefix(l.Tag, "zh") }
