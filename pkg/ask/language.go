package ask

import (
	"strings"
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
