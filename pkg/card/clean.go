package card

import (
	"unicode"

	"github.com/askbus/askbus/pkg/ask"
)

// text and line clean text with [ask.CleanText].
func text(s string) string { return ask.CleanText(s) }
func line(s string) string { return ask.CleanLine(s) }

// direction returns the writing direction of a text, "rtl" or "ltr", by its first letter.
func direction(s string) string {
	for _, r := range s {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam) {
			return "rtl"
		}
		if unicode.IsLetter(r) {
			return "ltr"
		}
	}
	return "ltr"
}
