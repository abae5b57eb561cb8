package ask

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText makes foreign text safe to print in a terminal, a log or a message.
// Visible text stays as it is; characters that are invisible or make text look
// like other text are removed:
//
//   - control characters (C0, DEL and C1) except line breaks and tabs, and
//     terminal sequences such as "\x1b[31m"; the text inside longer sequences,
//     such as titles and hyperlinks, stays visible
//   - direction marks and overrides, isolates, zero-width spaces, fillers, tags,
//     and all other characters without a glyph
//   - "\r\n", "\r" and the separators U+2028 and U+2029 become "\n"
//   - bytes that are not UTF-8 become U+FFFD
//
// Joiners stay between emoji (👩‍💻) and between letters of scripts that need
// them (Persian, Hindi), and one variation selector stays after an emoji or an
// ideograph. Flags spelt with tags (England's) become black flags.
//
// CleanText is idempotent.
func CleanText(s string) string {
	if plain(s) {
		return s
	}
	runes := visible([]rune(strings.ToValidUTF8(s, "\uFFFD")))
	kept := runes[:0]
	for i, r := range runes {
		var before, after rune
		if len(kept) > 0 {
			before = kept[len(kept)-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		if !dependent(r) || fits(before, r, after) {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

// CleanLine is [CleanText] on one line: each run of white space becomes one
// space.
func CleanLine(s string) string { return strings.Join(strings.Fields(CleanText(s)), " ") }

// Clip shortens a text of more than most characters: the last becomes "…".
func Clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// CleanJSON escapes the characters of a JSON document that [CleanText] would
// drop or replace, so that it can be printed. A JSON parser reads the same
// values.
func CleanJSON(doc []byte) []byte {
	if plain(string(doc)) {
		return doc
	}
	const hex = "0123456789abcdef"
	escape := func(to []byte, r rune) []byte {
		return append(to, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	clean := make([]byte, 0, len(doc)+16)
	for len(doc) > 0 {
		r, size := utf8.DecodeRune(doc)
		switch {
		case r == utf8.RuneError && size == 1:
			clean = append(clean, "\uFFFD"...)
		case r != '\n' && r != '\r' && (unshown(r) || breaks(r) || dependent(r)):
			if r > 0xFFFF {
				r -= 0x10000
				clean = escape(escape(clean, 0xD800+r>>10), 0xDC00+r&0x3FF)
			} else {
				clean = escape(clean, r)
			}
		default:
			clean = append(clean, doc[:size]...)
		}
		doc = doc[size:]
	}
	return clean
}

// plain reports whether s needs no cleaning, as most text does.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7F {
			return false
		}
	}
	return true
}

// visible drops terminal sequences and characters without a glyph. It keeps the
// characters that depend on their neighbours.
func visible(runes []rune) []rune {
	shown := make([]rune, 0, len(runes))
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\x1b' || r == 0x9B:
			i += sequence(runes[i:]) - 1
		case r == '\r' && i+1 < len(runes) && runes[i+1] == '\n':
		case breaks(r):
			shown = append(shown, '\n')
		case !unshown(r):
			shown = append(shown, r)
		}
	}
	return shown
}

// sequence returns the length of the terminal sequence at the start. Only a
// control sequence (CSI) is removed whole: it cannot contain words.
func sequence(runes []rune) int {
	at := 1
	if runes[0] == '\x1b' {
		if len(runes) < 2 || runes[1] != '[' {
			return 1
		}
		at = 2
	}
	const longest = 32
	for ; at < min(len(runes), longest); at++ {
		switch r := runes[at]; {
		case r >= 0x40 && r <= 0x7E:
			return at + 1
		case r < 0x20 || r > 0x7E:
			return 1 // not a sequence: what follows is text
		}
	}
	return 1
}

// breaks reports whether r begins a new line.
func breaks(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// unshown reports whether r has no glyph in any context: control and format
// characters, fillers, tags.
func unshown(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7F: // most characters
		return false
	case r == '\n' || r == '\t' || dependent(r):
		return false
	case unicode.In(r, unicode.Prepended_Concatenation_Mark):
		return false // a sign below or around Arabic numbers
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true // tags, and the reserved range after them
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

const (
	nonJoiner = '\u200C'
	joiner    = '\u200D'
)

// dependent reports whether r only has a meaning next to other characters.
func dependent(r rune) bool {
	const first = 0x180B // of the variation selectors, and below the joiners
	return r >= first && (r == joiner || r == nonJoiner || unicode.Is(unicode.Variation_Selector, r))
}

// fits reports whether the dependent character r has a meaning between its
// neighbours.
func fits(before, r, after rune) bool {
	switch {
	case r >= 0xE0100: // selects among the forms of an ideograph
		return unicode.Is(unicode.Han, before)
	case r >= 0x180B && r <= 0x180F:
		return joined(before) && unicode.Is(unicode.Mongolian, before)
	case !joins(r): // text or emoji, as in 1️⃣, ©️ and ❤️
		return pictorial(before) || before == 'ℹ' || unicode.In(before, unicode.Nd, unicode.Po, unicode.Sm, unicode.Han)
	case r == joiner && (pictorial(before) || before == 0xFE0F) && pictorial(after):
		return true
	}
	return joined(before) && joined(after)
}

func joins(r rune) bool { return r == joiner || r == nonJoiner }

// pictorial reports, roughly, whether r is an emoji or a skin tone.
func pictorial(r rune) bool {
	return unicode.Is(unicode.So, r) || r >= 0x2190 && r <= 0x2BFF || r >= 0x1F000 && r <= 0x1FAFF
}

// joined reports whether r is a letter or mark of a script whose letters join.
func joined(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M) && !dependent(r) && slices.ContainsFunc([]*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
	}, func(script *unicode.RangeTable) bool { return unicode.Is(script, r) })
}
