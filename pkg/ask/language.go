package ask

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// The languages of this package's texts, as the first part of a language tag.
// Every other language gets English.
const (
	english = "en"
	chinese = "zh"
)

// LanguageOf detects the language of texts by their script and returns a BCP 47
// tag: "zh", "ja", "ko", "ar", "he", "ru", "el" or "th", whichever has the most
// words. Each Chinese or Japanese character counts as a word: "用 PostgreSQL 还是
// SQLite？" is Chinese. It returns "" for Latin letters, which many languages
// share, and for texts without letters.
func LanguageOf(texts ...string) string {
	words := map[string]int{}
	for _, text := range texts {
		last := "" // script of the previous letter within the word
		for _, r := range text {
			script := scriptOf(r)
			if script != "" && (script != last || script == chinese || script == japanese) {
				words[script]++
			}
			last = script
		}
	}
	if words[japanese] > 0 { // Japanese also uses Chinese characters
		words[japanese] += words[chinese]
		delete(words, chinese)
	}
	tag, most := "", words[latin]
	for _, one := range []string{chinese, japanese, "ko", "ar", "he", "ru", "el", "th"} {
		if words[one] > most {
			tag, most = one, words[one]
		}
	}
	return tag
}

const (
	latin    = "latin"
	japanese = "ja"
)

// scriptOf returns the language that a letter suggests.
func scriptOf(r rune) string {
	switch {
	case !unicode.IsLetter(r) && !unicode.Is(unicode.M, r):
		return ""
	case r < 0x250:
		return latin
	case unicode.Is(unicode.Han, r):
		return chinese
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return japanese
	case unicode.Is(unicode.Hangul, r):
		return "ko"
	case unicode.Is(unicode.Arabic, r):
		return "ar"
	case unicode.Is(unicode.Hebrew, r):
		return "he"
	case unicode.Is(unicode.Cyrillic, r):
		return "ru"
	case unicode.Is(unicode.Greek, r):
		return "el"
	case unicode.Is(unicode.Thai, r):
		return "th"
	}
	return latin
}

// Language returns the language in which an agent is told about its ask: "zh"
// if the title and questions are Chinese, else "en". It is detected by script:
// agents write in the language of the person they work for, and declare none.
func (a *Ask) Language() string {
	texts := []string{a.Title}
	for i := range a.Questions {
		texts = append(texts, a.Questions[i].Text)
	}
	if LanguageOf(texts...) == chinese {
		return chinese
	}
	return english
}

func speaksChinese(lang string) bool {
	return lang == chinese || strings.HasPrefix(lang, chinese+"-")
}

// Translate translates a sentence of this package: the sentence of a
// [ReplyError], the message of a [Fault], or the result of [Needs]. Any other
// text is returned unchanged. A broker refuses in English; surfaces translate
// the refusal before they show it.
func Translate(lang, sentence string) string {
	if !speaksChinese(lang) {
		return sentence
	}
	for _, p := range chinesePhrases() {
		if m := p.english.FindStringSubmatch(sentence); m != nil {
			args := make([]any, len(m)-1)
			for i, part := range m[1:] {
				if args[i] = part; p.nested[i] {
					args[i] = Translate(lang, part)
				}
			}
			return fmt.Sprintf(p.chinese, args...)
		}
	}
	if head, rest, ok := strings.Cut(sentence, "; "); ok { // several faults of one answer
		if one, two := Translate(lang, head), Translate(lang, rest); one != head && two != rest {
			return one + "；" + two
		}
	}
	return sentence
}

// In returns the sentence in another language: see [Translate].
func (e *ReplyError) In(lang string) string { return Translate(lang, e.Sentence) }

type phrase struct {
	english *regexp.Regexp
	chinese string
	nested  []bool // which parts may be sentences of this package
}

//nolint:gochecknoglobals // made once, never changed
var chinesePhrases = sync.OnceValue(func() []phrase {
	verb := regexp.MustCompile(`%[qsdv]`)
	var all []phrase
	for _, p := range chineseSentences {
		var pattern strings.Builder
		var nested []bool
		at := 0
		for _, m := range verb.FindAllStringIndex(p[0], -1) {
			pattern.WriteString(regexp.QuoteMeta(p[0][at:m[0]]))
			switch p[0][m[0]:m[1]] {
			case "%q":
				pattern.WriteString(`"((?s:.*?))"`)
			case "%d":
				pattern.WriteString(`(\d+)`)
			default:
				pattern.WriteString(`((?s:.*?))`)
			}
			nested = append(nested, p[0][m[0]:m[1]] == "%s")
			at = m[1]
		}
		pattern.WriteString(regexp.QuoteMeta(p[0][at:]))
		all = append(all, phrase{regexp.MustCompile("^" + pattern.String() + "$"), strings.NewReplacer("%q", "“%s”", "%d", "%s", "%v", "%s").Replace(p[1]), nested})
	}
	return all
})
