package ask

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold maps typed text to one form, so that text that looks alike compares
// equal: letter case, full-width forms, half-width kana, Arabic digits, runs of
// white space, and invisible marks. It does not normalise Unicode: composed and
// decomposed accents stay different.
func fold(s string) string {
	folded := make([]rune, 0, len(s))
	space := false
	for _, r := range s {
		r = narrow(r)
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case unshown(r), dependent(r):
			continue
		}
		if space && len(folded) > 0 {
			folded = append(folded, ' ')
		}
		space = false
		if last := len(folded) - 1; last >= 0 {
			if whole, ok := voice(folded[last], r); ok {
				folded[last] = whole
				continue
			}
		}
		folded = append(folded, lower(r))
	}
	return string(folded)
}

// halfKana are the full-width forms of U+FF61 to U+FF9F, in order; the last
// two are the combining voicing marks.
const halfKana = "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u3099\u309a"

// narrow maps a rune of another width, or a digit or minus of another script,
// to its plain form.
func narrow(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // ！ to ～
		return r - 0xFEE0
	case r >= 0xFF61 && r <= 0xFF9F: // ｡ to ﾟ
		full, _ := utf8.DecodeRuneInString(halfKana[3*(r-0xFF61):]) // each is three bytes long
		return full
	case r >= 0x0660 && r <= 0x0669: // Arabic-Indic digits
		return r - 0x0660 + '0'
	case r >= 0x06F0 && r <= 0x06F9: // their eastern forms
		return r - 0x06F0 + '0'
	case r == 0x2212: // minus sign
		return '-'
	}
	return r
}

// lower maps all runes that differ only by case to one of them.
func lower(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

const (
	unvoiced   = "ウカキクケコサシスセソタチツテトハヒフヘホワヲ"
	voiced     = "ヴガギグゲゴザジズゼゾダヂヅデドバビブベボヷヺ"
	unplosive  = "ハヒフヘホ"
	plosive    = "パピプペポ"
	markVoiced = '\u3099'
	markHalf   = '\u309a'
)

// voice combines a kana with the voicing mark after it.
func voice(kana, mark rune) (rune, bool) {
	from, to := unvoiced, voiced
	switch mark {
	case markVoiced:
	case markHalf:
		from, to = unplosive, plosive
	default:
		return 0, false
	}
	at := strings.IndexRune(from, kana)
	if at < 0 {
		return 0, false
	}
	for _, r := range to[at:] { // every rune in these strings has three bytes
		return r, true
	}
	return 0, false
}
