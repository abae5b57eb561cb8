package ask

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible writes the characters that cannot be seen, or that change how others look, by their numbers, such as
// "⟨U+202E⟩": what a person permits must be what is shown. Line breaks, tabs and spaces stay. [CleanText] drops such
// characters, which is right for text that is only read.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && r != '\t' && r != ' ' && hides(r) {
			_, _ = fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hides reports whether r has no glyph, looks like a space, or is drawn over the character before it in any script.
func hides(r rune) bool {
	const emptyBraille, nullNotehead = '\u2800', '\U0001d159'
	return r == emptyBraille || r == nullNotehead || unicode.In(r, unicode.C, unicode.Z, unicode.Variation_Selector, unicode.Inherited, unicode.Other_Default_Ignorable_Code_Point)
}
